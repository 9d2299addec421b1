import { z } from 'zod'
import type { AccentColors } from '../../../facades/web/site.ts'

type Rgb = readonly [number, number, number]

/** Colours by scheme: the least contrasting background of text in the accent colour, and the text colour on the accent colour. */
const backgrounds = {
  light: { ground: '#eef1f5', ink: '#ffffff', towards: '#000000' },
  dark: { ground: '#242a32', ink: '#0b1a2a', towards: '#ffffff' },
} as const
type Scheme = keyof typeof backgrounds

/** Smallest contrast of text by WCAG 2.2, 1.4.3. */
const MIN_CONTRAST = 4.5

const hex = /^#[0-9a-f]{6}$/i

/** The accent colour for the light scheme, and one for the dark scheme, which is derived from the first by default. */
const accent = z.string().transform((text, ctx): AccentColors => {
  const [light = '', dark = lighten(light), ...rest] = text.split(',').map((part) => part.trim())
  if (![light, dark].every((color) => hex.test(color)) || rest.length > 0) {
    ctx.addIssue('must be a colour such as #0b5cad, or two: one for light and one for dark pages')
    return z.NEVER
  }
  for (const [scheme, color] of Object.entries({ light, dark }) as [Scheme, string][]) {
    const contrast = computeSchemeContrast(scheme, color)
    if (contrast < MIN_CONTRAST) ctx.addIssue(describeFaintColor(scheme, color, contrast))
  }
  return { light: computeShades('light', light), dark: computeShades('dark', dark) }
})

const describeFaintColor = (scheme: Scheme, color: string, contrast: number) =>
  `has ${color} for ${scheme} pages, whose contrast there is ${contrast.toFixed(1)}:1 and must be ${MIN_CONTRAST}:1; choose a ${
    scheme === 'light' ? 'darker' : 'lighter'
  } colour`

const computeShades = (scheme: Scheme, color: string) => ({
  accent: color,
  strong: mix(color, backgrounds[scheme].towards, 0.25),
  ink: backgrounds[scheme].ink,
})

/** Mixes a colour with white until its contrast on dark pages is sufficient. */
function lighten(color: string): string {
  if (!hex.test(color)) return color
  for (let share = 0; share < 1; share += 0.05) {
    const lighter = mix(color, '#ffffff', share)
    if (computeSchemeContrast('dark', lighter) >= MIN_CONTRAST) return lighter
  }
  return '#ffffff'
}

/** Computes the smaller contrast of a colour in a scheme: as text on the background, and as background of text. */
function computeSchemeContrast(scheme: Scheme, color: string): number {
  const { ground, ink } = backgrounds[scheme]
  // The contrast is rounded down, so that it is never overstated.
  return Math.floor(Math.min(computeContrast(color, ground), computeContrast(color, ink)) * 10) / 10
}

function computeContrast(a: string, b: string): number {
  const [lighter = 0, darker = 0] = [a, b].map((color) => computeLuminance(toRgb(color))).sort((x, y) => y - x)
  return (lighter + 0.05) / (darker + 0.05)
}

function computeLuminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(color: string, other: string, share: number): string {
  const [a, b] = [toRgb(color), toRgb(other)]
  const parts = a.map((part, at) => Math.round(part + ((b[at] ?? 0) - part) * share))
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

const toRgb = (color: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as unknown as Rgb

const page = z
  .url({ protocol: /^https$/, error: 'must begin with https://' })
  .max(2048)
  .optional()

/** Settings of the name and the looks of the pages for people. */
export const siteShape = {
  SITE_NAME: z
    .string()
    .trim()
    .min(1)
    .max(60)
    .optional()
    .describe('Sets the name of the service on its pages. If absent, it is BRAND.')
    .meta({ priority: 'may' }),
  SITE_LOGO: z
    .string()
    .optional()
    .describe('Names a PNG or SVG file of up to 200 KB that the pages show beside the name.')
    .meta({ priority: 'may' }),
  SITE_ACCENT: accent
    .optional()
    .describe(
      'Sets the colour of links and buttons, such as `#0b5cad`, or two colours with a comma for light and dark pages. The service does not start if their contrast is too low.',
    )
    .meta({ priority: 'may' }),
  SITE_IMPRINT_URL: page.describe('Sets the address of the imprint that the pages link to.').meta({ priority: 'may' }),
  SITE_PRIVACY_URL: page
    .describe('Sets the address of the privacy policy that the pages link to.')
    .meta({ priority: 'may' }),
  SITE_HELP_URL: page.describe('Sets the address of the help page that the pages link to.').meta({ priority: 'may' }),
  SECURITY_CONTACT: z
    .url({ protocol: /^(https|mailto)$/, error: 'must begin with https:// or mailto:' })
    .max(2048)
    .optional()
    .describe(
      'Sets the contact for reports of security problems in `/.well-known/security.txt`, such as `mailto:security@example.org`.',
    )
    .meta({ priority: 'may' }),
  SECURITY_EXPIRES: z.iso
    .date('must be a day such as 2027-06-30')
    .optional()
    .describe(
      'Sets the day on which `/.well-known/security.txt` expires, at most one year ahead. After that day the file is not served.',
    )
    .meta({ priority: 'may' }),
}

const securitySettings = ['SECURITY_CONTACT', 'SECURITY_EXPIRES'] as const

/** Rules that both settings of `security.txt` are set together, because the file needs both. */
export const siteRules = securitySettings.map((name, at) =>
  z.refine<Record<string, unknown>>(
    (env) => env[name] !== undefined || env[securitySettings[1 - at] as string] === undefined,
    {
      path: [name],
      message: `is required by ${securitySettings[1 - at]}`,
      when: () => true,
    },
  ),
)
