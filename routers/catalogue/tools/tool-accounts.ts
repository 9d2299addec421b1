import { z } from 'zod'
import {
  type AccountServerRow,
  deleteConnectionsOfUser,
  findConnectedClient,
  listAccountServers,
  listOwnAccounts,
  writeConnection,
} from '../../../entities/catalogue/mcp-connection.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { consumeRateLimit } from '../../core/load/rate-limit.ts'
import { Problem } from '../../core/problems.ts'
import { openSealed } from '../../core/sealed.ts'
import { about, anyone, host, router, sessionUser } from '../../core/trpc.ts'
import { ToolAccountError } from '../../ports/ai/tool-accounts.ts'
import type { BrowserSession } from '../../ports/session.ts'
import { TOOL_ACCOUNT } from '../../ports/vault.ts'
import { revokeLater } from './end-connections.ts'

/** Milliseconds in which a person must come back from the authorization server. */
const PENDING_MS = 15 * 60_000
/** Attempts to connect of one person in a minute, as each may register a client at a foreign server. */
const ATTEMPTS_PER_MINUTE = 10

const keyOf = (state: string) => `tool-account:${state}`

/** Number of characters of a text, sealed or not; beyond any that a server of accounts can make us store. */
const MAX_TEXT = 1_000_000
const text = z.string().max(MAX_TEXT)

const endedConnection = z.strictObject({
  client: text,
  tokens: text.nullable(),
  entered: z
    .strictObject({ clientId: text.nullable(), clientSecret: text.nullable(), issuer: text.nullable() })
    .exactOptional(),
})

/** The largest id that a column has room for. */
const MAX_ID = 2_147_483_647

const serverInput = z.strictObject({ server: z.int().positive().max(MAX_ID).describe('The id of the tool server.') })

const pendingRequest = z.object({
  state: z.string(),
  verifier: z.string(),
  url: z.string(),
  issuer: z.string(),
  scopes: z.array(z.string()).readonly(),
  client: z.string(),
  server: z.number(),
  label: z.string(),
  person: z.number(),
  /** The session in which it began, and in which alone it can end. */
  session: z.string(),
})
type PendingRequest = z.output<typeof pendingRequest>

type AccountContext = Context & { caller: { person: { id: number } }; browser: BrowserSession }

/** The own accounts of people at tool servers. Only a page of ours connects them, so no program can have it done. */
export const toolAccountsRouter = router({
  list: sessionUser
    .meta(about('List the tool servers at which people have accounts of their own, with the state of yours.'))
    .query(({ ctx }) => ctx.services.sql(listOwnAccounts, [ctx.caller.person.id])),

  connect: sessionUser
    .meta({
      ...about('Begin to connect your account at a tool server; returns the address to go to.'),
      waitsOutside: true,
    })
    .input(serverInput)
    .mutation(({ ctx, input }) => beginConnection(ctx, input.server)),

  finish: sessionUser
    .meta({ ...about('Connect the account with the query of the return address.'), waitsOutside: true })
    .input(z.strictObject({ query: z.string().max(8192) }))
    .mutation(({ ctx, input }) => finishConnection(ctx, input.query)),

  disconnect: sessionUser
    .meta({ ...about('End your account at a tool server, here and there.'), waitsOutside: true })
    .input(serverInput)
    .mutation(async ({ ctx, input: { server } }) => {
      const { id } = ctx.caller.person
      ctx.auditedCall?.setSubject(`user:${id}`).recordChange({ server })
      return { isRevoked: await endConnection(ctx, id, server) }
    }),

  /** Ends tokens whose connections are gone. Throws if a server cannot be reached, so that the job is repeated. */
  revoke: host
    .input(z.strictObject({ connections: z.array(endedConnection).max(1000) }))
    .mutation(async ({ ctx, input }) => {
      const accounts = await ctx.services.ai.toolAccounts()
      const outcomes = await Promise.all(input.connections.map((connection) => accounts.revoke(connection)))
      if (outcomes.includes('failed'))
        throw new Problem('unavailable', {
          detail: 'The tokens of some tool accounts could not be ended at their servers.',
        })
    }),

  /** The address of this document is our client id at servers that read it. */
  clientDocument: anyone
    .meta(about('Read the document that describes this service to authorization servers.'))
    .query(async ({ ctx }) => {
      const { clientDocument } = await ctx.services.ai.toolAccounts()
      if (!clientDocument) throw new Problem('not_found')
      return clientDocument
    }),
})

async function beginConnection(ctx: AccountContext, serverId: number) {
  const { sql, vault, stores, ai } = ctx.services
  const { id: person } = ctx.caller.person
  await consumeRateLimit(ctx, [`tool-accounts:${person}`], ATTEMPTS_PER_MINUTE)
  const server = await findServer(ctx, serverId)
  // A server that has ended the tokens may have forgotten our registration, too.
  const [earlier] = await sql(findConnectedClient, [person, serverId])
  const accounts = await ai.toolAccounts()
  const { url, pending } = await accounts
    .begin(server, earlier?.client, ctx.signal())
    .catch((error: unknown) => throwProblem(ctx, server, error))
  const stored: PendingRequest = {
    ...pending,
    server: server.id,
    label: server.label,
    person,
    session: getSession(ctx),
  }
  await stores.kv.set(keyOf(pending.state), vault.seal(JSON.stringify(stored), TOOL_ACCOUNT), PENDING_MS)
  return { redirectUri: url }
}

async function findServer({ services, caller }: AccountContext, id: number): Promise<AccountServerRow> {
  const [server] = await services.sql(listAccountServers, [id, caller.person.id])
  if (server) return server
  throw new Problem('not_found', { detail: 'There is no tool server at which you have an account of your own.' })
}

async function finishConnection(ctx: AccountContext, query: string) {
  const pending = await takePending(ctx, new URLSearchParams(query).get('state') ?? '')
  const { server, label, person } = pending
  const accounts = await ctx.services.ai.toolAccounts()
  const connected = await accounts.finish(query, pending).catch((error: unknown) => throwProblem(ctx, pending, error))
  const { url, issuer, client, tokens, scopes, expiresIn, account } = connected
  const values = [person, server, url, issuer, client, tokens, JSON.stringify(scopes), expiresIn, account]
  const [written] = await ctx.services.sql(writeConnection, values)
  if (!written) {
    await accounts.revoke(connected)
    throw new Problem('conflict', { detail: `${label} has meanwhile got another address. Connect your account again.` })
  }
  ctx.auditedCall?.setSubject(`user:${person}`).recordChange({ server, issuer })
  if (written.earlier) await accounts.revoke(written.earlier)
  return { server, label }
}

/** Takes the request that began in this session; each can be taken once, by its own person. */
async function takePending(ctx: AccountContext, state: string): Promise<PendingRequest> {
  const { stores, vault } = ctx.services
  const refuse = () => new Problem('connect_request_invalid')
  if (!/^[\w-]{20,100}$/.test(state)) throw refuse()
  const sealed = await stores.kv.get(keyOf(state))
  if (sealed === undefined || sealed === USED) throw refuse()
  const pending = openSealed(vault, sealed, TOOL_ACCOUNT, pendingRequest)
  if (pending?.person !== ctx.caller.person.id || pending.session !== getSession(ctx)) throw refuse()
  if (!(await stores.kv.replaceIfUnchanged(keyOf(state), sealed, USED, PENDING_MS))) throw refuse()
  return pending
}

const USED = 'used'

function getSession({ browser }: AccountContext): string {
  if (!browser.session) throw new Problem('signed_out')
  return browser.session.handle
}

/** Logs the reason, and gives it to the person in our words. */
function throwProblem(
  { services: { log }, requestId }: Context,
  { label, ...server }: Pick<AccountServerRow, 'label'> & { id?: number; server?: number },
  error: unknown,
): never {
  if (!(error instanceof ToolAccountError)) throw error
  const id = server.id ?? server.server
  log.info({ requestId, server: id, reason: error.message }, 'an account at a tool server was not connected')
  if (error.isDeclined) throw new Problem('not_permitted', { detail: `You have not allowed it at ${label}.` })
  throw new Problem('unavailable', { detail: `${label} cannot be connected. ${error.message}.`, cause: error })
}

/** Ends an account here, so that no refresh revives it, and then at its server, later if that cannot be reached. */
async function endConnection(ctx: AccountContext, person: number, server: number): Promise<boolean> {
  const { ai, process, sql } = ctx.services
  const [ended] = await sql(deleteConnectionsOfUser, [person, server])
  if (!ended) throw new Problem('not_found', { detail: 'You have no account at this tool server.' })
  const accounts = await ai.toolAccounts()
  const outcome = await accounts.revoke(ended)
  if (outcome === 'failed') await runInTransaction(ctx, undefined, (em) => revokeLater(em, process.jobQueue, [ended]))
  return outcome === 'revoked'
}
