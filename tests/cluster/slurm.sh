# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh. Slurm over the nodes: a controller on ctl, a slurmd on each of node1, node2, …

# Before nodes_up: the nodes mount it as /etc/slurm.
slurm_configuration() {
  local nodes=$1 tool
  for tool in slurmctld slurmd munged srun; do
    command -v $tool >/dev/null || fail "$tool is not installed; './dev test' installs what the cluster needs"
  done
  mkdir -p "$bed/slurm"
  # TreeWidth: with more width than nodes, an uncollected PMIx fence of Slurm's plugin is node-local.
  cat >"$bed/slurm/slurm.conf" <<TEXT
ClusterName=tutti
SlurmctldHost=ctl(10.77.0.254)
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
TreeWidth=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=/run/slurm
StateSaveLocation=/run/slurm
SlurmctldLogFile=/run/slurmctld.log
SlurmdLogFile=/run/slurmd.log
SlurmdParameters=config_overrides
NodeName=node[1-$nodes] NodeAddr=10.77.0.[1-$nodes] CPUs=4
PartitionName=p Nodes=ALL Default=YES
TEXT
  # slurmd looks for a cgroup file system at start, whether it uses one or not.
  echo "CgroupPlugin=cgroup/v1" >"$bed/slurm/cgroup.conf"
  # A key of this run alone.
  dd if=/dev/urandom of="$bed/munge.key" bs=1024 count=1 2>/dev/null
  chmod 400 "$bed/munge.key"
  chown munge "$bed/munge.key"
}

# After nodes_up: returns when every node is idle.
slurm_up() {
  local name tries
  for name in "$bed"/pid.*; do
    name=${name##*.}
    in_node "$name" sh -c '
      install -d -o munge -g munge /run/munge
      mkdir -p /run/slurm
      runuser -u munge -- munged --key-file '"$bed"'/munge.key --pid-file /run/munge/pid \
        --log-file /run/munge/log --seed-file /run/munge/seed --socket /run/munge/munge.socket.2
      case $(hostname) in ctl) exec slurmctld -c ;; *) exec slurmd ;; esac' >"$bed/slurm.$name" 2>&1 ||
      fail "Slurm does not start on $name: $(cat "$bed/slurm.$name")"
  done
  for ((tries = 0; ; ++tries)); do
    [ "$(in_node node1 sinfo -h -o %T 2>/dev/null)" = idle ] && return
    [ $tries -lt 150 ] || fail "Slurm's nodes do not become idle: $(in_node node1 sinfo 2>&1)"
    sleep 0.1
  done
}
