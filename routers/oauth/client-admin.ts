import { z } from 'zod'
import { generateSecret, hashSecret } from '../../entities/identity/token-format.ts'
import {
  type ListedClient,
  listClients,
  lockClient,
  registerClient,
  setClientBlocked,
  setClientSecret,
} from '../../entities/oauth/oauth-client.sql.ts'
import { listGrantTokens } from '../../entities/oauth/oauth-grant.sql.ts'
import { runInTransaction, withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { toClientName } from './client-name.ts'
import { isAcceptableRedirect } from './redirect-address.ts'

export const clientPage = z.strictObject({
  search: z.string().trim().max(100).optional().describe('A part of the name or host.'),
  limit: z.int().min(1).max(200).default(100),
  offset: z.int().min(0).max(1_000_000).default(0),
})

export interface ClientPage {
  clients: ListedClient[]
  total: number
}

export async function readClients(ctx: Context, page: z.output<typeof clientPage>): Promise<ClientPage> {
  const rows = await ctx.services.sql(listClients, [page.search || null, page.limit, page.offset])
  return { clients: rows.map(({ client }) => client), total: rows[0]?.total ?? 0 }
}

/** Blocks a client or allows it again. Blocking ends what it has under way; its grants stay, and rest. */
export async function blockClient(ctx: Context, { id, blocked }: { id: number; blocked: boolean }) {
  await withChangeLog(ctx, async (em, changes) => {
    const [client] = await runStatement(em, lockClient, [id])
    if (!client) throw createMissingProblem(id)
    await runStatement(em, setClientBlocked, [id, blocked])
    const tokens = blocked ? await runStatement(em, listGrantTokens, [id]) : []
    changes.addEnded(tokens.map(({ tokenId }) => tokenCredential(tokenId)))
    const { name, host } = client
    const change = { client: name, host, blocked: { before: client.blocked, after: blocked } }
    ctx.auditedCall?.setSubject(`oauth-client:${id}`).recordChange(change)
  })
  ctx.services.log.info({ ...describeActor(ctx), clientId: id, blocked }, 'a program was blocked or allowed')
  return { id, blocked }
}

const createMissingProblem = (id: number) => new Problem('not_found', { detail: `There is no program ${id}.` })

export const newClient = z.strictObject({
  name: z
    .string()
    .max(1000)
    .transform(toClientName)
    .refine((name) => name !== '', 'must not be empty'),
  redirectUris: z.array(z.string().max(1000)).min(1, 'must have an address').max(20),
  hasSecret: z.boolean().default(false).describe('True for a program on a server, which can keep a secret.'),
})

export interface RegisteredClient {
  id: number
  clientId: string
  /** Is shown this one time. */
  clientSecret: string | null
}

export async function registerForAll(
  ctx: Context,
  { name, redirectUris, hasSecret }: z.output<typeof newClient>,
): Promise<RegisteredClient> {
  const at = redirectUris.findIndex((address) => !isAcceptableRedirect(address, ctx.services.settings.oauth))
  if (at >= 0) {
    const message = 'must be https, http on a loopback address, or an address of OAUTH_REDIRECTS'
    throw new Problem('invalid', { issues: [{ path: ['redirectUris', at], message }] })
  }
  const clientId = `reg_${generateSecret().slice(0, 24)}`
  const clientSecret = hasSecret ? generateSecret() : null
  const id = await runInTransaction(ctx, undefined, async (em) => {
    const values = [clientId, name, redirectUris, clientSecret && hashSecret(clientSecret)]
    const created = await runForOneRow(em, registerClient, values)
    const change = { client: name, clientId, redirectUris, hasSecret }
    ctx.auditedCall?.setSubject(`oauth-client:${created.id}`).recordChange(change)
    return created.id
  })
  ctx.services.log.info({ ...describeActor(ctx), clientId: id }, 'a program was registered')
  return { id, clientId, clientSecret }
}

export async function rotateSecret(ctx: Context, id: number): Promise<{ id: number; clientSecret: string }> {
  const clientSecret = generateSecret()
  await runInTransaction(ctx, undefined, async (em) => {
    const [client] = await runStatement(em, lockClient, [id])
    if (!client) throw createMissingProblem(id)
    if (client.kind !== 'registered')
      throw new Problem('invalid', { detail: 'Only a program that an administrator has registered has a secret.' })
    await runStatement(em, setClientSecret, [id, hashSecret(clientSecret)])
    ctx.auditedCall?.setSubject(`oauth-client:${id}`).recordChange({ client: client.name, secret: 'changed' })
  })
  ctx.services.log.info({ ...describeActor(ctx), clientId: id }, 'the secret of a program was changed')
  return { id, clientSecret }
}
