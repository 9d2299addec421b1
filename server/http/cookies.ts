/** What a browser keeps for us. Scripts cannot read it, and other sites' requests that change something lack it. */
export interface Cookie {
  name: string
  value: string
  path: string
  /** In seconds; 0 removes it. */
  maxAge: number
  secure: boolean
}

export const writeCookie = ({ name, value, path, maxAge, secure }: Cookie) =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

/** The value of a cookie, if it is of our alphabet. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const [key = '', value = ''] = part.trim().split('=', 2)
    if (key === name) return /^[\w.-]+$/.test(value) ? value : undefined
  }
  return undefined
}
