// The time of sums and steps of many processes, from that of two. Times are in milliseconds.

/** The rounds of a ring of so many processes, and the bytes of a message of each. */
const ring = (processes, bytes) => ({ rounds: 2 * (processes - 1), bytes: bytes / processes });

/**
 * The latency of a message, and the bytes of each millisecond, that fit measured sums best: by least squares of the
 * relative errors, so that small sums count as much as large ones.
 */
export function fit(sums) {
  let aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
  for (const { processes, bytes, ms } of sums) {
    const { rounds, bytes: message } = ring(processes, bytes);
    const a = rounds / ms, b = (rounds * message) / ms;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a;
    by += b;
  }
  const determinant = aa * bb - ab * ab;
  return { latency: (ay * bb - by * ab) / determinant, bandwidth: determinant / (by * aa - ay * ab) };
}

/** The time of a sum. */
export function sumTime({ latency, bandwidth }, processes, bytes) {
  const { rounds, bytes: message } = ring(processes, bytes);
  return rounds * (latency + message / bandwidth);
}

/** The bytes of WorkerOptions::bytes_per_pack, by default. */
const packBytes = 1 << 20;
/** The part of a step's instructions beside which sums can run: that of the backward pass. */
const backward = 2 / 3;

/**
 * The time of a step whose instructions take `work`. The sum of each pack begins when its gradients are computed; that of
 * the last one follows the backward pass. A step waits for that one, and for more if sums are slower than gradients.
 */
export function stepTime(link, processes, bytes, work) {
  const packs = Math.max(1, Math.floor(bytes / packBytes)), one = sumTime(link, processes, bytes / packs);
  return work + Math.max(one, packs * one - backward * work * (1 - 1 / packs));
}

/** How many rows of the workload are computed in the time in which one process computes one. */
export function speedup(link, { bytes, ms }, processes, scaling) {
  return scaling === 'weak' ? (processes * ms) / stepTime(link, processes, bytes, ms) : ms / stepTime(link, processes, bytes, ms / processes);
}
