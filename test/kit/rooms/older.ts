import type { TestApp } from '../app.ts'
import type { TestBrowser } from '../browser.ts'

/** A text as older front ends encrypt it. */
export const text = (said: string) => ({ ciphertext: Buffer.from(said).toString('base64'), iv: 'aXY=', tag: 'dGFn' })

/** Sends a form with a file as a browser does. */
export async function sendFile({ url }: Pick<TestApp, 'url'>, { cookies }: TestBrowser, path: string, form: FormData) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
    body: form,
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Uploads a file by a route of older front ends; returns its uuid. */
export async function uploadTo(
  svc: Pick<TestApp, 'url'>,
  by: TestBrowser,
  path: string,
  said = 'Hello',
): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([said], { type: 'text/plain' }), 'notes.txt')
  const { status, body } = await sendFile(svc, by, path, form)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return String(body['uuid'])
}
