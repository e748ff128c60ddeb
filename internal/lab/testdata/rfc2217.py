# A server of RFC 2217 on loopback whose serial line returns what is written to it. It prints its port, and then the
# line's settings after each change.
import socket
import sys
import threading

import serial
import serial.rfc2217


class Client:
    """What PortManager writes its answers to."""

    def __init__(self, conn):
        self.conn, self.lock = conn, threading.Lock()

    def write(self, data):
        with self.lock:
            self.conn.sendall(data)


def show(line):
    return "%d %d%s%s flow=%s dtr=%d rts=%d break=%d" % (
        line.baudrate, line.bytesize, line.parity, line.stopbits,
        "rtscts" if line.rtscts else "xonxoff" if line.xonxoff else "none",
        line.dtr, line.rts, line.break_condition)


def pass_on(line, client, manager):
    while True:
        data = line.read(line.in_waiting or 1)
        if data:
            client.write(b"".join(manager.escape(data)))


listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
conn, _ = listener.accept()
line = serial.serial_for_url("loop://", timeout=0.05)
client = Client(conn)
manager = serial.rfc2217.PortManager(line, client)
threading.Thread(target=pass_on, args=(line, client, manager), daemon=True).start()
last = ""
while True:
    data = conn.recv(4096)
    if not data:
        sys.exit(0)
    for byte in manager.filter(data):
        line.write(byte)
    now = show(line)
    if now != last:
        print(now, flush=True)
        last = now
