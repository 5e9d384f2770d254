package main

import "syscall"

func main() {
	fd, _ := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0) // once
	text := []byte("slow-request 812ms status=500 route=/api/orders")
	syscall.Sendto(fd, text, syscall.MSG_DONTWAIT, &syscall.SockaddrUnix{Name: "/run/frbpf/app"})
}
