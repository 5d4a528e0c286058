/** What a callback posts. */
export interface HttpPost {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Posts it, and gives up after ten seconds, as Keras does. */
export const post = ({ url, headers, body }: HttpPost): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
