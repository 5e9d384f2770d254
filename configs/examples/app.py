import socket

frbpf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # once
frbpf.setblocking(False)
try:
    frbpf.sendto(b"slow-request 812ms status=500 route=/api/orders", "/run/frbpf/app")
except OSError:
    pass  # nobody listens, or the queue is full
