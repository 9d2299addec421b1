import { defineCommand } from 'citty'
import { z } from 'zod'
import { type CommandContext, json } from '../../command-context.ts'
import { UsageError } from '../../errors.ts'
import { lifetime } from '../../lifetime.ts'
import { optionalFlag } from '../../prompts.ts'
import { typedNumber } from '../../typed-number.ts'

export const appId = { type: 'positional', required: true, description: 'Id of the app' } as const

export const credentialExpires = {
  type: 'string',
  description: 'How long the credential works, such as 90d or 1y; for ever when absent',
} as const

const minutes = typedNumber.pipe(z.int('must be a whole number').min(0).max(10_080))

/** A key as people keep it, of the text that apps read: its first part is the PEM in base64. */
export const toPem = (key: string) =>
  Buffer.from(key.split('|', 1)[0] ?? '', 'base64')
    .toString()
    .trimEnd()

export const rotateApp = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give an external app another credential, or another key for which secrets are sealed' },
    args: {
      id: appId,
      overlap: {
        type: 'string',
        description: 'How many minutes credentials before still work; 60 when absent, 0 where one has leaked',
      },
      expires: credentialExpires,
      key: { type: 'string', description: 'Its other RSA key, as SPKI in base64, or `new` for a pair; ends all links' },
      yes: { type: 'boolean', description: 'Do not ask before links end' },
      json,
    },
    async run({ args: { id, overlap, expires, key, yes } }) {
      const stray = Object.entries({ overlap, expires }).filter(([, value]) => key !== undefined && value !== undefined)
      if (stray.length > 0) throw new UsageError(stray.map(([name]) => `--${name} does not go with --key.`).join('\n'))
      if (key !== undefined) return rotateKey(context, { id, key, yes })
      const { more, until } = await context.prompts.readAll({
        more: () => optionalFlag('overlapMinutes', minutes, overlap, '--overlap'),
        until: () => optionalFlag('expiresAt', lifetime, expires, '--expires').expiresAt,
      })
      const given = { ...more, ...(until && { expiresAt: until.toISOString() }) }
      const { meta } = await context.open(({ host }) => host.extApps.rotateCredential({ id, ...given }))
      context.print({ record: meta, text: `Copy it now, it is not shown again:\n\n${meta.credential}` })
    },
  })

interface KeyChange {
  id: string
  key: string
  yes: boolean | undefined
}

async function rotateKey(context: CommandContext, { id, key, yes }: KeyChange): Promise<void> {
  if (!yes) await context.prompts.consent('--yes', `End all links of app ${id}, so that it asks people again?`)
  const publicKey = key === 'new' ? null : key
  const { privateKey } = await context.open(({ host }) => host.extApps.update({ id, publicKey }))
  const told = privateKey ? ` Copy its private key now, it is not shown again:\n\n${toPem(privateKey)}` : ''
  const text = `App ${id} has another key, and no links.${told}`
  context.print({ record: { id, ...(privateKey && { privateKey }) }, text })
}
