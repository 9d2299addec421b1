import { defineCommand } from 'citty'
import { z } from 'zod'
import { appAbilities } from '../../../entities/apps/ext-app.ts'
import { type CommandContext, json } from '../../command-context.ts'
import { UsageError } from '../../errors.ts'
import { lifetime } from '../../lifetime.ts'
import { optionalFlag, type Prompts } from '../../prompts.ts'
import { typedNumber } from '../../typed-number.ts'
import { credentialExpires, toPem } from './rotate-app.ts'

const words = z.string().transform((text) => text.split(',').map((part) => part.trim()))
const abilities = words.pipe(z.array(z.enum(appAbilities)))
const days = typedNumber.pipe(z.int('must be a whole number').min(1).max(365))
const said = z.string().trim().min(1, 'must not be empty')

export const createApp = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Make an external app, and show its credential and its private key once' },
    args: {
      name: { type: 'string', description: 'The name that people see, unique' },
      url: { type: 'string', description: 'Where the app is' },
      redirect: {
        type: 'string',
        description: 'Where browsers may be sent back, with commas between; --url when absent',
      },
      description: { type: 'string', description: 'What the app is for' },
      logo: { type: 'string', description: 'Address of its picture' },
      abilities: {
        type: 'string',
        description: `What it may ask for, of ${appAbilities.join(',')}; ai,user when absent`,
      },
      'public-key': { type: 'string', description: 'Its RSA key, as SPKI in base64; a pair is made when absent' },
      'with-keys': {
        type: 'boolean',
        description: 'It gets the passkey of people, and can read all that is encrypted for them',
      },
      'without-keys': {
        type: 'boolean',
        description: 'Changes nothing: it gets no passkey unless --with-keys is given',
      },
      days: { type: 'string', description: 'How many days a link holds; 90 when absent' },
      expires: credentialExpires,
      json,
    },
    async run({ args }) {
      const { prompts } = context
      if (args['with-keys'] && args['without-keys'])
        throw new UsageError('--with-keys does not go with --without-keys.')
      const { name, url, options } = await prompts.readAll({
        name: () => prompts.text({ flag: '--name', given: args.name, message: 'Name', schema: said }),
        url: () => prompts.text({ flag: '--url', given: args.url, message: 'Address of the app', schema: said }),
        options: () => readOptions(prompts, args),
      })
      const given = { name, url, redirectUrls: [url], ...options }
      const { id, credential, privateKey } = await context.open(({ host }) => host.extApps.create(given))
      const key = privateKey ? `\n\nPrivate key:\n\n${toPem(privateKey)}` : ''
      const text = `App ${id} is made. Copy this now, it is not shown again.\n\nCredential:\n\n${credential}${key}`
      context.print({ record: { id, name, credential, ...(privateKey && { privateKey }) }, text })
    },
  })

interface Options {
  redirect?: string | undefined
  description?: string | undefined
  logo?: string | undefined
  abilities?: string | undefined
  'public-key'?: string | undefined
  'with-keys'?: boolean | undefined
  'without-keys'?: boolean | undefined
  days?: string | undefined
  expires?: string | undefined
}

async function readOptions(prompts: Prompts, { redirect, description, logo, ...args }: Options) {
  const { asked, held, until } = await prompts.readAll({
    asked: () => optionalFlag('abilities', abilities, args.abilities, '--abilities'),
    held: () => optionalFlag('linkDays', days, args.days, '--days'),
    until: () => optionalFlag('credentialExpiresAt', lifetime, args.expires, '--expires').credentialExpiresAt,
  })
  return {
    ...(redirect !== undefined && { redirectUrls: words.parse(redirect) }),
    ...(description !== undefined && { description }),
    ...(logo !== undefined && { logoUrl: logo }),
    ...(args['public-key'] !== undefined && { publicKey: args['public-key'] }),
    ...(args['with-keys'] && { needsKeys: true }),
    ...asked,
    ...held,
    ...(until && { credentialExpiresAt: until.toISOString() }),
  }
}
