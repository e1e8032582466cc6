#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# init.sh NAME BED BUILD SOURCE
# The first process of a node, started by nodes.sh in namespaces of its own: sets up what differs
# between two machines, then stays as the parent of a sshd. When it is killed, the node is gone.
set -eu
name=$1 bed=$2
shift 2

hostname "$name"
mount --make-rprivate /
mount --bind "$bed/hosts" /etc/hosts
mount -t tmpfs -o mode=1777 none /dev/shm
# A checkout below /tmp stays visible under its own path in the node's own /tmp.
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/sshd /run/old-tmp
mount --rbind /tmp /run/old-tmp
mount -t tmpfs -o mode=1777 none /tmp
for folder; do
  case $folder in
    /tmp/*)
      mkdir -p "$folder"
      mount --rbind "/run/old-tmp/${folder#/tmp/}" "$folder" ;;
  esac
done
umount -l /run/old-tmp
cat /proc/sys/kernel/random/uuid >/run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id  # two machines have two
[ ! -e ~/.bashrc ] || mount --bind /dev/null ~/.bashrc
mount -t tmpfs -o mode=755 none /etc/ssh/ssh_config.d
cp "$bed/ssh_config" /etc/ssh/ssh_config.d/cluster.conf
if [ -d "$bed/slurm" ]; then
  mkdir -p /etc/slurm
  mount --bind "$bed/slurm" /etc/slurm
fi

touch "$bed/waits.$name"
until [ -e "$bed/connected.$name" ]; do sleep 0.01; done
/usr/sbin/sshd -D -e -f /dev/null -h "$bed/host_key" -oUsePAM=no -oStrictModes=no -oPermitRootLogin=yes \
  -oAuthorizedKeysFile="$bed/id.pub .ssh/authorized_keys" -oMaxStartups=200 -oPidFile=none &
echo $! >/run/sshd.pid
wait || true
exec sleep infinity  # a node without a sshd is still a node
