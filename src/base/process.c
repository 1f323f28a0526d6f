// SPDX-License-Identifier: Apache-2.0
// Another program that shares a socket with this one. A dead partner is found by the end of its socket: every
// descriptor here is close-on-exec, so that no third program keeps it open.
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

sb_status sbi_process_start(const char *const *command, sbi_process *out, sb_error *err) {
    int ends[2];
    char why[SBI_REASON_SIZE];
    out->id = 0;
    out->socket = -1;
    if (access(command[0], X_OK) != 0) {
        char shown[160];
        return sbi_fail(err, SB_ERR_WORKER, "worker", "cannot run %s: %s",
                        sbi_escape(command[0], strlen(command[0]), shown, sizeof shown), sbi_reason(errno, why));
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return sbi_fail(err, SB_ERR_WORKER, "worker", "cannot make a socket for a worker: %s", sbi_reason(errno, why));
    pid_t child = fork();
    if (child < 0) {
        int number = errno;
        close(ends[0]);
        close(ends[1]);
        return sbi_fail(err, SB_ERR_WORKER, "worker", "cannot start a worker: %s", sbi_reason(number, why));
    }
    if (child == 0) { // between fork and exec only calls that are safe in a copy of a threaded process
        if (ends[1] == SBI_PROCESS_SOCKET ? fcntl(ends[1], F_SETFD, 0) != 0 : dup2(ends[1], SBI_PROCESS_SOCKET) < 0)
            _exit(127);
        union { // execv promises not to write, and its type says otherwise
            const char *const *as_given;
            char *const *as_wanted;
        } arguments = {.as_given = command};
        execv(command[0], arguments.as_wanted);
        _exit(127);
    }
    close(ends[1]);
    out->id = child;
    out->socket = ends[0];
    return SB_OK;
}

void sbi_process_end(sbi_process *process, char *how, size_t how_size) {
    int state = 0;
    if (how && how_size)
        how[0] = 0;
    if (process->socket >= 0)
        close(process->socket);
    process->socket = -1;
    if (process->id <= 0)
        return;
    pid_t id = (pid_t)process->id, ended = 0;
    for (int tries = 0; tries < 200 && (ended = waitpid(id, &state, WNOHANG)) == 0; tries++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    if (ended == 0) {
        kill(id, SIGKILL);
        while ((ended = waitpid(id, &state, 0)) < 0 && errno == EINTR) {
        }
    }
    process->id = 0;
    if (!how || !how_size)
        return;
    if (ended > 0 && WIFSIGNALED(state))
        snprintf(how, how_size, "killed by signal %d", WTERMSIG(state));
    else if (ended > 0 && WIFEXITED(state))
        snprintf(how, how_size, "ended with exit code %d", WEXITSTATUS(state));
    else
        snprintf(how, how_size, "gone");
}

static sb_status gone(sb_error *err, int number) {
    char why[SBI_REASON_SIZE];
    return sbi_fail(err, SB_ERR_WORKER, "worker", "another process of this step is gone: %s", sbi_reason(number, why));
}

sb_status sbi_socket_send(int socket, const void *bytes, int64_t size, sb_error *err) {
    const char *from = bytes;
    while (size > 0) {
        ssize_t sent = send(socket, from, (size_t)(size < (1 << 20) ? size : (1 << 20)), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return gone(err, errno);
        from += sent;
        size -= sent;
    }
    return SB_OK;
}

sb_status sbi_socket_receive(int socket, void *bytes, int64_t size, sb_error *err) {
    char *to = bytes;
    while (size > 0) {
        ssize_t got = recv(socket, to, (size_t)(size < (1 << 20) ? size : (1 << 20)), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gone(err, errno);
        if (got == 0)
            return sbi_fail(err, SB_ERR_WORKER, "worker", "another process of this step is gone: its socket is closed");
        to += got;
        size -= got;
    }
    return SB_OK;
}
