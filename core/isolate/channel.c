/* Packets between parent and child: see channel.h. */
#include "isolate/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void channel_close(struct channel *channel)
{
    if (channel->fd >= 0) {
        close(channel->fd);
    }
    area_close(&channel->request);
    area_close(&channel->reply);
    channel->fd = -1;
}

sluice_status channel_pair(int ends[2], struct sluice_error *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_errno(err, errno, "cannot make a socket pair for a child process");
    }
    return SLUICE_OK;
}

union control { /* aligned as struct cmsghdr wants it */
    char bytes[CMSG_SPACE(sizeof(int) * 4)];
    struct cmsghdr align;
};

bool channel_send(int fd, const struct packet *packet, const void *data, size_t n, int pass,
                  bool now)
{
    struct iovec parts[2] = { { .iov_base = (void *)(uintptr_t)packet, .iov_len = sizeof *packet },
                              { .iov_base = (void *)(uintptr_t)data, .iov_len = n } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = n > 0 ? 2 : 1 };
    union control control;
    ssize_t sent;

    if (pass >= 0) {
        struct cmsghdr *header;
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof pass);
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof pass);
        memcpy(CMSG_DATA(header), &pass, sizeof pass);
    }
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL | (now ? MSG_DONTWAIT : 0));
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)(sizeof *packet + n);
}

/* Keeps the first descriptor that came and closes the others. */
static int take_descriptors(struct msghdr *message)
{
    int kept = -1;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        size_t n;
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t k = 0; k < n; k++) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + k * sizeof fd, sizeof fd);
            if (kept < 0) {
                kept = fd;
            } else {
                close(fd);
            }
        }
    }
    return kept;
}

int channel_receive(int fd, struct packet *packet, void *data, size_t *n, int *passed, bool now)
{
    size_t room = n == NULL ? 0 : *n;
    struct iovec parts[2] = { { .iov_base = packet, .iov_len = sizeof *packet },
                              { .iov_base = data, .iov_len = room } };
    union control control;
    struct msghdr message = { .msg_iov = parts,
                              .msg_iovlen = room > 0 ? 2 : 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t got;
    int came;

    if (passed != NULL) {
        *passed = -1;
    }
    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (now ? MSG_DONTWAIT : 0));
    } while (got < 0 && errno == EINTR);
    if (got < 0 && now && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    /* Descriptors are taken in before the packet is judged: those of a bad one must be closed as
     * well. */
    came = got < 0 ? -1 : take_descriptors(&message);
    if (got < (ssize_t)sizeof *packet || (message.msg_flags & MSG_TRUNC) != 0) {
        if (came >= 0) {
            close(came);
        }
        return -1;
    }
    if (passed != NULL) {
        *passed = came;
    } else if (came >= 0) {
        close(came);
    }
    if (n != NULL) {
        *n = (size_t)got - sizeof *packet;
    }
    return 1;
}
