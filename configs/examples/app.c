#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	struct sockaddr_un to = { AF_UNIX, "/run/frbpf/app" };
	char text[] = "slow-request 812ms status=500 route=/api/orders";
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0); /* once */
	return sendto(fd, text, sizeof(text) - 1, MSG_DONTWAIT, (void *)&to, sizeof(to)) < 0;
}
