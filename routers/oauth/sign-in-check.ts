import { z } from 'zod'
import type { Context } from '../core/context.ts'
import type { Settings } from '../core/settings.ts'
import { isLoopbackHost } from '../ports/web-address.ts'
import { parseDocument } from './client-document.ts'
import { knownDocuments } from './document-access.ts'
import { isOpenTo } from './oauth-policy.ts'

export const checkInput = z.strictObject({
  documents: z
    .array(z.url({ protocol: /^https$/ }).max(255))
    .max(20)
    .optional(),
})

export interface SignInCheck {
  clients: Settings['oauth']['clients']
  abilities: readonly string[]
  hosts: readonly string[]
  issuer: string
  /** The documents that were fetched; one without a problem is usable. */
  documents: { address: string; problem: string | null }[]
  /** Sentences about settings under which people cannot sign in programs. */
  obstacles: string[]
}

/** Checks whether people can sign in programs, and fetches documents if programs may be described by them. */
export async function checkSignIn(
  ctx: Context,
  { documents = knownDocuments }: z.output<typeof checkInput>,
): Promise<SignInCheck> {
  const { settings } = ctx.services
  const { clients, abilities, clientHosts: hosts } = settings.oauth
  const tried = isOpenTo('document', settings) ? documents : []
  return {
    clients,
    abilities,
    hosts,
    issuer: settings.baseUrl,
    documents: await Promise.all(tried.map(async (address) => ({ address, problem: await findProblem(ctx, address) }))),
    obstacles: listObstacles(settings),
  }
}

async function findProblem(ctx: Context, address: string): Promise<string | null> {
  try {
    const { text } = await ctx.services.process.clientDocuments.fetch(address, ctx.signal())
    parseDocument(text, address)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function listObstacles({ oauth, allowUserTokenCreation, allowExternalCommunication, baseUrl }: Settings): string[] {
  const { protocol, hostname } = new URL(baseUrl)
  return [
    !allowExternalCommunication && 'ALLOW_EXTERNAL_COMMUNICATION is off, so programs cannot use the service at all.',
    allowExternalCommunication && oauth.clients === 'off' && 'OAUTH_CLIENTS is off, so no program can be signed in.',
    !allowUserTokenCreation && 'ALLOW_USER_TOKEN_CREATION is off, so nobody can give a program access.',
    protocol !== 'https:' &&
      !isLoopbackHost(hostname) &&
      'BASE_URL is not https, which programs on other computers refuse.',
  ].filter((sentence) => sentence !== false)
}
