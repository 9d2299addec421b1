import { buildQuestion } from './ai/provider.ts'

export const SLOW = { timeout: 60_000, interval: 20 }

export const readTokens = (text: string) =>
  [...text.matchAll(/^ {4}Token +(svc_\S+)$/gm)].map(([, token]) => token ?? '')

/** Asks as a script does; a refused connection is the status 0. */
export async function fetchAnswer(url: string, token: string, model = 'demo') {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(buildQuestion('Hello', model))
  const response = await fetch(`${url}/api/ai-req`, { method: 'POST', headers, body }).catch(() => undefined)
  return { status: response?.status ?? 0, body: await response?.json().catch(() => undefined) }
}
