import { SOCKET_PATH } from '../../routers/core/settings.ts'
import { codes } from './close-codes.ts'

/** Why a connection is refused that speaks the protocol: said in a frame, then by the close code. */
export interface Refusal {
  code: number
  message: string
}

/** The key in the address of a handshake; undefined where nothing listens. A proxy may have cut off what is before `/app`. */
export function keyIn(url: string, basePath: string): string | undefined {
  const [path = ''] = url.split('?')
  const prefixes = [`${basePath}${SOCKET_PATH}`, SOCKET_PATH, '']
  const prefix = prefixes.find((it) => path.startsWith(`${it}/app/`))
  const key = prefix === undefined ? '' : path.slice(`${prefix}/app/`.length)
  return key === '' || key.includes('/') ? undefined : key
}

/** What is wrong with the version that a client asks for; without one it is 7. */
export function versionRefusal(url: string): Refusal | undefined {
  const version = new URLSearchParams(url.split('?')[1]).get('protocol') ?? '7'
  if (!/^\d{1,3}$/.test(version)) return { code: codes.badVersion, message: 'The protocol version is no number.' }
  if (Number(version) >= 5 && Number(version) <= 7) return undefined
  return { code: codes.unsupportedVersion, message: 'Versions 5 to 7 of the protocol are spoken here.' }
}
