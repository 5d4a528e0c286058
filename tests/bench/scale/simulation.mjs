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

/** How many rows of the workload are computed in the time in which one process computes one. */
export function speedup(link, { bytes, ms }, processes, scaling) {
  const sum = sumTime(link, processes, bytes);
  return scaling === 'weak' ? (processes * ms) / (ms + sum) : ms / (ms / processes + sum);
}
