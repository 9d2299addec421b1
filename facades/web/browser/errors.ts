/** A text by its key. */
export type Translate = (key: string) => string

/** What a step of a page cannot go on with, by the key of the text that says so. */
export class Wrong extends Error {
  readonly key: string

  constructor(key: string) {
    super(key)
    this.key = key
  }
}

/** What the server refused, by its word for programs. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  /** The part of the input that was wrong, where one was. */
  readonly field: string

  constructor(status: number, code = '', field = '') {
    super(`${status} ${code}`)
    this.status = status
    this.code = code
    this.field = field
  }
}

/** The most general text about each status. */
const byStatus: Record<number, string> = {
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

/** What went wrong in the language of the page. The server's own sentences are for programs and stay unseen. */
export function explain(translate: Translate, error: unknown): string {
  if (error instanceof Wrong) return translate(error.key)
  if (!(error instanceof Refused)) return translate('page.error')
  const { status, code, field } = error
  const names = [status === 422 && `field.${field}`, code, byStatus[status]]
  const keys = names.filter((name) => name).map((name) => `page.error.${name}`)
  const key = keys.find((key) => translate(key) !== key)
  return translate(key ?? 'page.error')
}
