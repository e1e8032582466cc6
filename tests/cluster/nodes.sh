# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh and bed.sh. A cluster on one machine: every node is a set of namespaces with its own host
# name, network interface, process numbers, /dev/shm, /tmp, /run and sshd, so that ranks on two nodes
# see two hosts. Nodes are node1, node2, …, and ctl for the Slurm controller, at 10.77.0.x.
#
# Nothing of it can be left behind: enter_the_bed puts the caller itself into private network, mount
# and process namespaces, in which everything else is made. When its first process ends, by whatever
# signal, the kernel takes away the processes, links, mounts and files.

readonly bed=/media  # covered by a tmpfs that only this run sees

# In a chroot "/" is no mount point, so that nobody can make it private. This runs the script again in a
# mount namespace where it is one: in a copy of the tree that stands where it can be seen by nobody else,
# below /proc, which is a mount point and can be made private.
make_the_root_a_mount() {
  [ "${IN_CHROOT_COPY:-}" != 1 ] && [ -d /proc/driver ] || return 0
  IN_CHROOT_COPY=1 exec unshare --mount --propagation unchanged sh -c '
    mount --make-rprivate /proc && mount -t tmpfs -o mode=755 none /proc/driver && mkdir /proc/driver/root &&
      mount --rbind / /proc/driver/root && mount --make-rprivate /proc/driver/root &&
      exec chroot /proc/driver/root "$0" "$@"
    echo "skipped: the root of this chroot cannot be made a mount point"
    exit 77' "$here/$(basename "$0")" "$@"
}

# Runs this script again inside of private namespaces. Exit 77 where that is forbidden.
enter_the_bed() {
  if [ "${IN_CLUSTER_BED:-}" != 1 ]; then
    [ "$(id -u)" != 0 ] || unshare --mount true 2>/dev/null || make_the_root_a_mount "$@"
    if [ "$(id -u)" != 0 ] || ! unshare --net --mount --pid --ipc --uts --fork true 2>/dev/null; then
      echo "skipped: making namespaces needs root and a kernel or container that allows it"
      exit 77
    fi
    local tool
    for tool in ip ssh ssh-keygen /usr/sbin/sshd nsenter; do
      command -v "$tool" >/dev/null || fail "$tool is not installed; './dev test' installs what the cluster needs"
    done
    case $build/ in "$bed"/*) fail "the build is below $bed, which the nodes cover; build elsewhere" ;; esac
    IN_CLUSTER_BED=1 exec unshare --net --mount --propagation private --pid --ipc --uts --fork --kill-child \
      --mount-proc "$here/$(basename "$0")" "$@"
  fi
  mount -t tmpfs -o mode=755 tutti "$bed"
  ip link set lo up
  ip link add br0 up type bridge
}

address() { if [ "$1" = ctl ]; then echo 10.77.0.254; else echo "10.77.0.${1#node}"; fi; }

# nodes_up NAME…: boots them; returns when each answers ssh.
nodes_up() {
  local name each
  ssh-keygen -q -t ed25519 -N '' -C tutti-cluster -f "$bed/id"
  ssh-keygen -q -t ed25519 -N '' -C tutti-cluster -f "$bed/host_key"
  echo "127.0.0.1 localhost" >"$bed/hosts"
  for name; do
    echo "$(address "$name") $name" >>"$bed/hosts"
    echo "$name,$(address "$name") $(cat "$bed/host_key.pub")" >>"$bed/known_hosts"
  done
  printf 'Host *\n IdentityFile %s/id\n UserKnownHostsFile %s/known_hosts\n BatchMode yes\n ConnectTimeout 5\n' \
    "$bed" "$bed" >"$bed/ssh_config"
  for name; do boot "$name"; done
  for name; do
    for ((each = 0; ; ++each)); do
      in_node "$name" ssh "$name" true 2>/dev/null && break
      [ $each -lt 100 ] || fail "$name does not answer ssh: $(cat "$bed/log.$name")"
      sleep 0.05
    done
  done
}

declare -A cpu_of_node=()  # by number: the CPUs of its processes, if not all
declare -A clock_of_node=()  # by number: by how many seconds its monotonic clock is ahead of this machine's

boot() {
  local name=$1 outer pid= cpus=${cpu_of_node[${1#node}]:-} clock=${clock_of_node[${1#node}]:-}
  # $here/init.sh waits for its interface, which can only be given to a process that exists.
  ${cpus:+taskset -c "$cpus"} unshare --net --mount --uts --ipc --pid ${clock:+--time --monotonic "$clock"} \
    --fork --kill-child --mount-proc "$here/init.sh" "$name" "$bed" "$build" "$source_dir" </dev/null >"$bed/log.$name" 2>&1 &
  outer=$!
  until pid=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) && [ -n "${pid// /}" ]; do
    kill -0 "$outer" 2>/dev/null || fail "$name did not boot: $(cat "$bed/log.$name")"
    sleep 0.01
  done
  pid=${pid// /}
  echo "$pid" >"$bed/pid.$name"
  until [ -e "$bed/waits.$name" ]; do
    [ -d "/proc/$pid" ] || fail "$name did not boot: $(cat "$bed/log.$name")"
    sleep 0.01
  done
  ip link add "v-$name" up master br0 type veth peer name eth0 netns "$pid"
  in_node "$name" ip address add "$(address "$name")/24" dev eth0
  in_node "$name" ip link set lo up
  in_node "$name" ip link set eth0 up
  touch "$bed/connected.$name"
}

# in_node NAME COMMAND…: runs it there, as if typed at that machine.
in_node() {
  local pid
  pid=$(cat "$bed/pid.$1")
  shift
  nsenter --target "$pid" --all --root --wdns="$PWD" "$@"  # its root need not be its namespace's
}

# The three ways a node goes away.
cut_link() { ip link set "v-$1" down; }      # its cable is pulled: nothing arrives, nothing is refused
mend_link() { ip link set "v-$1" up; }
# Power off: connections stay half open. (A kernel that only loses its processes still says goodbye.)
crash_node() {
  cut_link "$1"
  kill -9 "$(cat "$bed/pid.$1")"
  rm "$bed/pid.$1"
}
stop_sshd() { in_node "$1" sh -c 'kill -9 "$(cat /run/sshd.pid)"'; }  # alive, but takes no logins

# On all nodes: what runs from the build, and what a rank has started or become.
job_processes() {
  local pid of_jobs
  of_jobs=$(grep -lzs '^TUTTI_JOB=' /proc/[0-9]*/environ) || true
  for pid in /proc/[0-9]*; do
    case $(readlink "$pid/exe" 2>/dev/null) in
      "$build"/*) ;;
      *) [[ $of_jobs$'\n' == *"$pid/environ"$'\n'* ]] || continue ;;
    esac
    echo "${pid#/proc/}"
  done
}
# What a job must not leave on any living node.
leftovers() {
  local name pid
  for pid in $(job_processes); do
    echo "process $pid: $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
  done
  for name in "$bed"/pid.*; do
    name=${name##*.}
    in_node "$name" sh -c 'for f in /dev/shm/* /tmp/*; do [ -e "$f" ] && echo "$(hostname): $f"; done
      tail -n +2 /proc/sysvipc/shm | while read -r key id rest; do echo "$(hostname): segment $id"; done' |
      grep -v -x -F "$name: /$(cut -d/ -f2,3 <<<"$build")" || true  # the way to a checkout below /tmp
  done
}
