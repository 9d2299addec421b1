export const user = 'internal_authenticated'

export const guest = 'internal'

/** What cookies are signed with, so replicas share it. */
export const APP_KEY = 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo'

export const cookieOf = (headers: Headers) =>
  headers.getSetCookie().find((line) => line.startsWith('svc_session=')) ?? ''
