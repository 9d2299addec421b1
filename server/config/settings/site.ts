import { z } from 'zod'
import { accent } from './accent.ts'

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
    .describe('Name of the service on its pages; the brand word when absent'),
  SITE_LOGO: z.string().optional().describe('PNG or SVG file of up to 200 KB that the pages show beside the name'),
  SITE_ACCENT: accent
    .optional()
    .describe(
      'Colour of links and buttons such as `#0b5cad`, or two with a comma, for light and for dark pages; where it has not enough contrast, the service does not start',
    ),
  SITE_IMPRINT_URL: page.describe('Page with the imprint, to which the pages link'),
  SITE_PRIVACY_URL: page.describe('Page on data protection, to which the pages link'),
  SITE_HELP_URL: page.describe('Page with help, to which the pages link'),
}
