import { hash } from 'node:crypto'

/**
 * Writes the policy of a page in a frame of ours that shows what a person or a model wrote. It has no network and no origin,
 * and runs only the script inside it; styles and pictures may be inline.
 */
export const writeFramePolicy = (script: string): string =>
  [
    "default-src 'none'",
    `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-scripts',
  ].join('; ')
