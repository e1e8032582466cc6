# SPDX-License-Identifier: BSD-3-Clause
# knock.py PID SECONDS [USER]
# As the user nobody, or that one: sends nonsense to the loopback ports at which that process listens, for so long or until
# it is gone. Some connections say nothing, some are closed or reset at once, some claim long messages, and some begin as
# UCX's do.
import os
import random
import socket
import struct
import sys
import time

pid, seconds = sys.argv[1], float(sys.argv[2])


def ports():
    sockets = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    out = []
    with open("/proc/net/tcp") as listed:
        for line in listed.readlines()[1:]:
            field = line.split()
            if field[3] == "0A" and field[1].startswith("0100007F") and f"socket:[{field[9]}]" in sockets:
                out.append(int(field[1].split(":")[1], 16))
    return out


limit = time.time() + 10
try:
    while not (found := ports()):
        if time.time() > limit:
            sys.exit("it does not listen")
        time.sleep(0.002)
except FileNotFoundError:
    print("it is gone")
    sys.exit()
user = int(sys.argv[3]) if len(sys.argv) > 3 else 65534
if user != os.getuid():
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
end = time.time() + seconds
silent, count = [], 0
while time.time() < end:
    try:
        s = socket.socket()  # create_connection() would read files that nobody may not
        s.settimeout(0.3)
        s.connect(("127.0.0.1", random.choice(found)))
    except OSError:
        break
    count += 1
    size = random.choice([10, 100, 1000, 4096, 1 << 20, 1 << 30, 1 << 40, 2**64 - 1])
    try:
        kind = random.random()
        if kind < 0.02 and len(silent) < 50:
            silent.append(s)
            continue
        if kind < 0.4:
            s.send((0xCAFEBABE12345678).to_bytes(8, "little") + os.urandom(100))
        elif kind < 0.9:
            s.send(bytes(8) + size.to_bytes(8, random.choice(["little", "big"])) + os.urandom(min(size, 3000)))
        if kind < 0.2 or kind > 0.6:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    except OSError:
        pass
print(count, "connections to ports", found)
