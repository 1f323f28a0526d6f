// SPDX-License-Identifier: Apache-2.0
// Framed messages between the processes of a step: a header of 32 bytes, then its payload.
#include "shard.h"

#include <string.h>

#define MAGIC 0x53424d31u // "SBM1": a stray byte is noticed at the next header

sb_status sbi_message_send(int socket, sbi_message_kind kind, int64_t a, int64_t b,
                           const void *payload, int64_t bytes, sb_error *err) {
    sbi_message header = {.magic = MAGIC, .kind = kind, .a = a, .b = b, .bytes = bytes};
    sb_status status = sbi_socket_send(socket, &header, sizeof header, err);
    return status == SB_OK && bytes ? sbi_socket_send(socket, payload, bytes, err) : status;
}

sb_status sbi_message_receive_any(int socket, sbi_message *out, sb_error *err) {
    sb_status status = sbi_socket_receive(socket, out, sizeof *out, err);
    if (status != SB_OK) return status;
    if (out->magic != MAGIC || out->bytes < 0)
        return sbi_fail(err, SB_ERR_WORKER, "worker",
                        "another process of this step sent bytes that are no message");
    if (out->kind == SBI_MESSAGE_ERROR) {
        sb_error theirs = {0};
        if (out->bytes != (int64_t)sizeof theirs)
            return sbi_fail(err, SB_ERR_WORKER, "worker",
                            "another process of this step failed without saying why");
        status = sbi_socket_receive(socket, &theirs, sizeof theirs, err);
        if (status != SB_OK) return status;
        sb_error shown = {.status = theirs.status};
        sbi_escape(theirs.argument, strnlen(theirs.argument, sizeof theirs.argument), shown.argument, sizeof shown.argument);
        sbi_escape(theirs.message, strnlen(theirs.message, sizeof theirs.message), shown.message, sizeof shown.message);
        if (shown.status <= SB_OK || shown.status > SB_ERR_INTERNAL)
            shown.status = SB_ERR_WORKER;
        if (err) *err = shown;
        return shown.status;
    }
    return SB_OK;
}

sb_status sbi_message_receive(int socket, sbi_message_kind expected, sbi_message *out,
                              sb_error *err) {
    sb_status status = sbi_message_receive_any(socket, out, err);
    if (status == SB_OK && out->kind != (uint32_t)expected)
        return sbi_fail(err, SB_ERR_WORKER, "worker",
                        "another process of this step sent message %u where %d was due", out->kind,
                        (int)expected);
    return status;
}
