/** Translates a key. */
export type Translate = (key: string) => string

/** An error that a page found itself; `key` is the key of its text. */
export class PageError extends Error {
  readonly key: string

  constructor(key: string) {
    super(key)
    this.key = key
  }
}

/** An error answer of the server, with its code. */
export class ServerError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code = '') {
    super(`${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** The fallback text for each status. */
const fallbacksByStatus: Record<number, string> = {
  400: 'invalid',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  412: 'conflict',
  413: 'too_large',
  422: 'invalid',
  429: 'too_many_requests',
  503: 'unavailable',
}

/** The text for an error in the language of the page; the server's messages are in English, and are not shown. */
export function translateError(translate: Translate, error: unknown): string {
  if (error instanceof PageError) return translate(error.key)
  if (!(error instanceof ServerError)) return translate('page.error')
  const { status, code } = error
  const keys = [code, fallbacksByStatus[status]].map((name) => `page.error.${name}`)
  const key = keys.find((key) => translate(key) !== key)
  return translate(key ?? 'page.error')
}
