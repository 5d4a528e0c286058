/** A callback's HTTP POST request. */
export interface HttpPost {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Sends the request, with a timeout of ten seconds, as in Keras. */
export const post = ({ url, headers, body }: HttpPost): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
