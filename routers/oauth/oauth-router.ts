import { z } from 'zod'
import { deleteUnusedClients } from '../../entities/oauth/oauth-client.sql.ts'
import { deleteExpiredCodes } from '../../entities/oauth/oauth-code.sql.ts'
import { deleteEndedGrants, type ListedGrant, listGrants } from '../../entities/oauth/oauth-grant.sql.ts'
import { about, adminSession, anyone, host, router, sensitiveAdmin, sessionUser } from '../core/trpc.ts'
import { findUser, rowId, userSelector } from '../identity/user-selector.ts'
import { deleteInBatches } from '../verbs/delete-in-batches.ts'
import type { Redirect } from './authorization-request.ts'
import {
  blockClient,
  type ClientPage,
  clientPage,
  newClient,
  type RegisteredClient,
  readClients,
  registerForAll,
  rotateSecret,
} from './client-admin.ts'
import { acceptRequest, type ConsentView, declineRequest, showRequest } from './consent.ts'
import { offersDocuments } from './document-access.ts'
import { registerDynamic, registration } from './dynamic-registration.ts'
import { endGrantFor, endOwnGrant } from './grants.ts'
import { checkInput, checkSignIn, type SignInCheck } from './sign-in-check.ts'
import { issueTokens, revocation, revokeToken } from './token-endpoint.ts'
import { tokenRequest } from './token-request.ts'

const MAX_SEALED = 16_384
const request = z.string().min(1).max(MAX_SEALED)
const servers = z.array(rowId).max(1000).nullable().describe('Null allows all tool servers, also those added later.')

const BATCH_SIZE = 100

/** The sign-in for programs: consent of people, tokens for programs, and what administrators decide. */
export const oauthRouter = router({
  request: sessionUser
    .meta(about('Read the request of a program that has sent the caller here, with the query of its address.'))
    .input(z.strictObject({ query: z.string().max(MAX_SEALED) }))
    .query(({ ctx, input }): Promise<{ view: ConsentView } | Redirect> => showRequest(ctx, input.query)),

  agree: sessionUser
    .meta(about('Allow a program what it asks for. The browser then goes to the returned address.'))
    .input(z.strictObject({ request, servers }))
    .mutation(({ ctx, input }): Promise<Redirect> => acceptRequest(ctx, input.request, input.servers)),

  decline: sessionUser
    .meta(about('Decline the request of a program. The browser then goes to the returned address.'))
    .input(z.strictObject({ request }))
    .mutation(({ ctx, input }): Promise<Redirect> => declineRequest(ctx, input.request)),

  grants: sessionUser
    .meta(about('List the programs that the caller has signed in.'))
    .query(({ ctx }): Promise<ListedGrant[]> => ctx.services.sql(listGrants, [ctx.caller.person.id])),

  endGrant: sessionUser
    .meta(about("End a program's access, with all that it has under way."))
    .input(z.strictObject({ id: rowId }))
    .mutation(({ ctx, input }) => endOwnGrant(ctx, input.id)),

  token: anyone
    .meta(about('Exchange a code or a refresh token for tokens, as RFC 6749 says.'))
    .input(tokenRequest)
    .mutation(({ ctx, input }) => issueTokens(ctx, input)),

  register: anyone
    .meta(about('Register a program as RFC 7591 says. Nothing is stored: its id contains the registration.'))
    .input(registration)
    .mutation(({ ctx, input }) => registerDynamic(ctx, input)),

  offersDocuments: anyone
    .meta(
      about('Tell whether the ids of programs may be addresses of documents, which the service must be able to fetch.'),
    )
    .query(({ ctx }): Promise<boolean> => offersDocuments(ctx)),

  revoke: anyone
    .meta(about('End the grant of a token, as RFC 7009 says.'))
    .input(revocation)
    .mutation(({ ctx, input }) => revokeToken(ctx, input)),

  clients: adminSession
    .meta(about('List the programs that people have signed in, and those that are registered or blocked.'))
    .input(clientPage)
    .query(({ ctx, input }): Promise<ClientPage> => readClients(ctx, input)),

  grantsOf: adminSession
    .meta(about('List the programs that a person has signed in.'))
    .input(z.strictObject({ user: userSelector }))
    .query(
      async ({ ctx, input }): Promise<ListedGrant[]> =>
        ctx.services.sql(listGrants, [(await findUser(ctx, input.user)).id]),
    ),

  endGrantFor: sensitiveAdmin
    .meta(about("End a program's access to a person's data, with all that it has under way."))
    .input(z.strictObject({ user: userSelector, id: rowId }))
    .mutation(({ ctx, input }) => endGrantFor(ctx, input)),

  block: sensitiveAdmin
    .meta(about('Block a program for everybody, with all that it has under way, or allow it again.'))
    .input(z.strictObject({ id: rowId, blocked: z.boolean() }))
    .mutation(({ ctx, input }) => blockClient(ctx, input)),

  registerClient: sensitiveAdmin
    .meta(about('Register a program for everybody. A secret is shown once.'))
    .input(newClient)
    .mutation(({ ctx, input }): Promise<RegisteredClient> => registerForAll(ctx, input)),

  rotateSecret: sensitiveAdmin
    .meta(about('Give a registered program another secret, which is shown once. The earlier one ends at once.'))
    .input(z.strictObject({ id: rowId }))
    .mutation(({ ctx, input }) => rotateSecret(ctx, input.id)),

  /** Is for the host alone, because it has the service fetch addresses and returns why one failed. */
  check: host.input(checkInput).query(({ ctx, input }): Promise<SignInCheck> => checkSignIn(ctx, input)),

  /** Deletes codes, grants and clients that have ended. Several replicas may run it at once. */
  deleteExpired: host.mutation(async ({ ctx: { services } }) => {
    const deleteWith = (statement: Parameters<typeof services.sql>[0]) =>
      deleteInBatches(BATCH_SIZE, () => services.sql(statement, [BATCH_SIZE]))
    const { deleted: codes } = await deleteWith(deleteExpiredCodes)
    const { deleted: grants } = await deleteWith(deleteEndedGrants)
    const { deleted: clients } = await deleteWith(deleteUnusedClients)
    return { codes, grants, clients }
  }),
})
