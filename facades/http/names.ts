import { brand } from '../../routers/core/brand.ts'

/** Where the JSON:API begins. */
export const basePath = `/api/${brand}/v1`

/** Cookies: of a session, of a sign-in that waits for its provider, and of a browser in which an account signed in before. */
export const sessionCookie = `${brand}_session`
export const loginCookie = `${brand}_login`
export const knownCookie = `${brand}_known`

/** In `meta` of each answer to a write. */
export const syncLogMember = `_${brand}_sync_log`
