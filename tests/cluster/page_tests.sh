# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: what the pages of docs/ and the examples of manual pages show of clusters. The blocks are read out
# of the pages and compared with what is printed, as all others are (tests/docs/run_pages.py --cluster).

# page_blocks NODE WORD PREFIX PAGE: the page's blocks that are marked with this word, in a folder that all nodes see.
page_blocks() {
  local node=$1 word=$2 prefix=$3 page=$4
  mkdir -p "$bed/home"
  code=0
  in_node "$node" timeout 200 python3 "$source_dir/tests/docs/run_pages.py" --cluster="$word" --home="$bed/home" "$prefix" \
    "$source_dir/$page" </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
}

test_pages_slurm() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  local page
  is_idle() { [ "$(in_node node1 sinfo -h -o %T)" = idle ]; }
  for page in docs/clusters.md docs/from-another-mpi.md man/mpirun.1; do
    within 20 is_idle || fail "the nodes are not idle before $page: $(in_node node1 sinfo)"
    page_blocks node1 slurm "$build" "$page"
    rm -rf "$bed/home"
  done
}

# own_users NAME…: on all nodes these users of the machine have a home in the bed, and the password 'secret'. Only this run
# sees that. Who is not known gets a number.
own_users() {
  local name number=4242 node hash
  cp /etc/passwd /etc/shadow "$bed"
  hash=$(perl -e 'print crypt("secret", "\$6\$tutti\$")')
  for name; do
    grep -q "^$name:" "$bed/passwd" || echo "$name:x:$number:$number::/:/bin/bash" >>"$bed/passwd"
    sed -i "s|^\($name:[^:]*:[^:]*:[^:]*:[^:]*\):.*|\1:$bed/home.$name:/bin/bash|" "$bed/passwd"
    sed -i "/^$name:/d" "$bed/shadow"
    echo "$name:$hash:19000:0:99999:7:::" >>"$bed/shadow"
    install -d -o "$(sed -n "s/^$name:[^:]*:\([0-9]*\):.*/\1/p" "$bed/passwd")" -m 700 "$bed/home.$name"
    number=$((number + 1))
  done
  for node in "$bed"/pid.*; do
    in_node "${node##*.}" sh -c "mount --bind $bed/passwd /etc/passwd && mount --bind $bed/shadow /etc/shadow"
  done
}

# A user who has no key yet, at nodes that nobody of hers has met: what the page tells her to type, then a job.
test_pages_keys() {
  nodes_up node1 node2 node3
  own_users root
  in_node node1 rm /etc/ssh/ssh_config.d/cluster.conf
  ln -s home.root "$bed/home"
  in_node node1 ssh -o BatchMode=yes node2 true 2>/dev/null && fail "node2 lets in who has no key"
  page_blocks node1 keys "$build" docs/clusters.md
  in_node node1 ssh -o BatchMode=yes node2 true || fail "what the page says does not suffice for node2: $(cat "$bed/out")"
  in_node node1 ssh -o BatchMode=yes node3 true || fail "what the page says does not suffice for node3: $(cat "$bed/out")"
  launch --host node1,node2,node3 "$where"
  went_well
  said "^rank 2 of 3 on node3$"
}

# as_user NAME NODE COMMAND…: with the home that own_users has made.
as_user() {
  local name=$1 node=$2
  shift 2
  in_node "$node" runuser -u "$name" -- env HOME="$bed/home.$name" USER="$name" TMPDIR=/tmp "$@"
}

# at_opt_tutti NODE: there the build stands at /opt/tutti, with a copy of the manual, into which an index may be written.
at_opt_tutti() {
  in_node "$1" sh -ec '
    build=$1 source=$2
    mount -t tmpfs -o mode=755 none /opt
    cd "$build"
    for folder in bin lib libexec include etc share/*; do
      if [ -d "$folder" ] && [ "$folder" != share/man ]; then
        mkdir -p "/opt/tutti/$folder"
        mount --bind "$folder" "/opt/tutti/$folder"
      fi
    done
    mkdir -p /opt/tutti/share/man/man1
    cp "$source"/man/*.1 /opt/tutti/share/man/man1
    cp -R man/man3 man/man7 /opt/tutti/share/man' sh "$build" "$source_dir"
}

# What an administrator types as root, where the installation is at /opt/tutti, and a user has a job on two nodes.
test_pages_root() {
  nodes_up node1 node2
  own_users alice
  local node home=$bed/home.alice
  for node in node1 node2; do
    at_opt_tutti "$node"
  done
  as_user alice node2 /opt/tutti/bin/mpirun --version >"$bed/out" 2>&1 ||
    { echo "skipped: other users may not run what is in $build: $(cat "$bed/out")"; exit 77; }
  as_user alice node2 sh -c 'mkdir -m 700 ~/.ssh && ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_ed25519 &&
    cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys && echo "IdentityFile ~/.ssh/id_ed25519" >~/.ssh/config'
  in_node node2 "$bin/mpicc" -g -o "$home/solver" "$source_dir/tests/docs/stuck.c"
  # Until both ranks of node1 are in the call that the page shows.
  as_user alice node2 /opt/tutti/bin/mpirun --host node1:2,node2:2 "$home/solver" </dev/null >"$bed/alice" 2>&1 &
  launched=$!
  stuck() { in_node node1 /opt/tutti/bin/tutti why --user alice 2>&1 | tee "$bed/why" | grep -q "ranks 0, 1: in MPI_Allreduce"; }
  within 20 stuck || fail "the job of alice does not begin: $(cat "$bed/alice" "$bed/why")"
  page_blocks node1 root /opt/tutti docs/operation.md
  in_node node2 pkill -x mpirun
  wait "$launched" || true
}
