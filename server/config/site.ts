import { readFile, stat } from 'node:fs/promises'
import type { Logo, Site } from '../../facades/web/site.ts'
import type { Env } from './settings.ts'

const MAX_LOGO_BYTES = 200 * 1024

/** Reads name, logo, colours and links of the pages; throws if the logo is invalid. */
export async function readSite(env: Env): Promise<Site> {
  const { SITE_NAME, SITE_LOGO, SITE_ACCENT, SITE_IMPRINT_URL, SITE_PRIVACY_URL, SITE_HELP_URL } = env
  return {
    name: SITE_NAME ?? env.BRAND,
    logo: SITE_LOGO === undefined ? undefined : await readLogo(SITE_LOGO),
    accent: SITE_ACCENT,
    hasTitles: env.AI_CHAT_TITLES,
    links: { imprint: SITE_IMPRINT_URL, privacy: SITE_PRIVACY_URL, help: SITE_HELP_URL },
    security: readSecurity(env),
  }
}

/** Reads the contact for security reports; it expires at the end of the given day. */
const readSecurity = ({
  SECURITY_CONTACT: contact,
  SECURITY_EXPIRES: day,
  BASE_URL: baseUrl,
}: Env): Site['security'] =>
  contact !== undefined && day !== undefined ? { contact, expires: new Date(`${day}T23:59:59Z`), baseUrl } : undefined

/** Reads the logo; throws an error if the file is no valid logo. */
export async function readLogo(file: string): Promise<Logo> {
  const size = await stat(file).then(
    (found) => found.size,
    () => undefined,
  )
  if (size === undefined) throw new Error(`SITE_LOGO=${file}: there is no such file.`)
  if (size > MAX_LOGO_BYTES) throw new Error(`SITE_LOGO=${file}: has more than ${MAX_LOGO_BYTES / 1024} KB.`)
  const body = await readFile(file)
  const type = detectType(body)
  if (!type) throw new Error(`SITE_LOGO=${file}: is neither a PNG nor an SVG picture.`)
  return { type, body }
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function detectType(body: Buffer): Logo['type'] | undefined {
  if (body.subarray(0, 8).equals(pngSignature)) return 'image/png'
  return /^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(body.toString())
    ? 'image/svg+xml'
    : undefined
}
