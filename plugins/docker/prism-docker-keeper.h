/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host says to its keeper: packets of a SOCK_SEQPACKET pair, each a letter and
 * strings that end with a NUL. Each is answered by one packet: empty for done, else why
 * not, as text. */
#pragma once

#define PRISM_DOCKER_KEEPER_FD     3
#define PRISM_DOCKER_KEEPER_PACKET 16384
#define PRISM_DOCKER_KEEPER_MOST   4096 /* sandboxes of one host */

/* CONTAINER FOLDER SOCKET PROGRAM: remove that container and that folder when the host is
 * gone, by the engine's socket or, where that is "", by the program. */
#define PRISM_DOCKER_KEEP   'k'
/* CONTAINER: it is there now, so that when it is not found it is gone. */
#define PRISM_DOCKER_MADE   'c'
/* CONTAINER: it was removed, and its folder. */
#define PRISM_DOCKER_FORGET 'f'
/* CONTAINER: remove it and its folder now; what is under way, or an engine that does not
 * answer, is waited for. The host need not be there for that. */
#define PRISM_DOCKER_REMOVE 'r'
/* CONTAINER SECONDS: it outlives the host; remove its folder when it has ended. */
#define PRISM_DOCKER_DETACH 'd'
/* PLACE SOURCE FLAGS FROM_UID TO_UID FROM_GID TO_GID: show it there with the ids
 * changed; FLAGS: "d" for a folder, "r" for read-only. Only root's keeper can. */
#define PRISM_DOCKER_SHOW   'm'
/* PLACE: take it away again. */
#define PRISM_DOCKER_HIDE   'u'
