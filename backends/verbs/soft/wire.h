/* What soft0's wire has seen, for programs that link the library (or look the symbol up with dlsym). Beside this,
 * nothing but the packets tells of it: to verbs the wire is a network. */
#ifndef RKV_SOFT_WIRE_H
#define RKV_SOFT_WIRE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Since the process began. Thread-safe; counts of packets that are on their way may be missing. */
struct rkv_soft_wire_counters {
  uint64_t packets_sent;
  uint64_t packets_received;
  uint64_t refused_by_system; /* packets that the socket did not take: lost */
  uint64_t malformed;         /* received: no packet of RoCEv2, or longer than one can be */
  uint64_t damaged;           /* received: wrong ICRC */
  uint64_t nobody;            /* received: no such queue pair, or connected to somebody else */
  uint64_t out_of_sequence;   /* received: ahead of what was expected */
  uint64_t duplicates;        /* received: requests that were carried out before */
  uint64_t retransmissions;   /* times that an RC queue pair began to send again */
  uint64_t timeouts;          /* of them, for want of an answer */
  uint64_t left_to_pollers;   /* looks at which the wire's thread found others polling */
};

void rkv_soft_get_wire_counters(struct rkv_soft_wire_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
