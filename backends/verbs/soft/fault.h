/*
 * Fault injection into the soft RNIC (librkv-soft.so), for tests.
 *
 * The same faults can be set by environment before the device is opened: RKV_SOFT_SEED, RKV_SOFT_DROP,
 * RKV_SOFT_DUPLICATE, RKV_SOFT_REORDER, RKV_SOFT_RNR (probabilities from 0 to 1) and RKV_SOFT_DELAY_NS.
 *
 * Each queue pair draws from a stream of its own, which depends on the seed and on the queue pair's number
 * only, so that a program that creates its queue pairs in the same order meets the same faults in every run.
 * (To another process: from one for each connection, by how many the queue pair had before.)
 * All functions are thread-safe. A change applies to messages posted from then on.
 */
#ifndef RKV_SOFT_FAULT_H
#define RKV_SOFT_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rkv_soft_faults {
  uint64_t seed;
  /* UC and UD: each message (SEND, RDMA WRITE) is lost, or delivered twice, or held back until the next
   * message of its queue pair was delivered (or for 1 ms). The sender's completion is a success, as on a
   * network. RC to another process: each packet is, without the 1 ms. */
  double drop_probability;
  double duplicate_probability;
  double reorder_probability;
  /* RC: a message that needs a receive is answered "receiver not ready" although there may be one. It uses up
   * the sender's RNR retries and waits for the receiver's RNR timer. */
  double rnr_probability;
  /* All transports: a message is carried out this long after it was posted; messages overlap. */
  uint64_t delay_ns;
  /* RDMA WRITEs and READs within the process: their bytes move word by word, with a pause of up to twice this
   * before each, in ascending order unless shuffled. Nothing of it is counted. */
  uint64_t word_pause_ns;
  int shuffle_writes;
  int shuffle_reads;
};

/* How often each fault was injected, in this process and since the last reset. */
struct rkv_soft_fault_counters {
  uint64_t dropped;
  uint64_t duplicated;
  uint64_t reordered;
  uint64_t forced_rnr;
  uint64_t delayed;
};

/* Replaces all faults and restarts every queue pair's stream; NULL ends injection.
 * 0, or EINVAL if a probability is not in [0, 1] (nothing is changed then). */
int rkv_soft_set_faults(const struct rkv_soft_faults* faults);
void rkv_soft_get_fault_counters(struct rkv_soft_fault_counters* counters);
void rkv_soft_reset_fault_counters(void);

#ifdef __cplusplus
}
#endif

#endif
