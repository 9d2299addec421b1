import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { McpServer } from './mcp-server.ts'

/** `expired`: the server no longer accepts the tokens, and the person must connect the account again. */
const connectionStates = ['active', 'expired'] as const
export type ConnectionState = (typeof connectionStates)[number]

/** A person's own account at a tool server. */
export const McpConnection = defineEntity({
  name: 'McpConnection',
  tableName: 'mcp_connections',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    server: () => p.manyToOne(McpServer).deleteRule('cascade').index().ref(),
    /** The server's address for which the tokens were given. They are sent to no other. */
    url: p.string().length(2048),
    issuer: p.string().length(2048),
    /** Our registration at the issuer, and the issuer's addresses. Sealed with the application key, like the tokens. */
    client: p.text().hidden(),
    /** Null once they have ended. */
    tokens: p.text().nullable().hidden(),
    scopes: p.json<string[]>().nullable(),
    /** The end of the access token; null if the server named none. */
    expiresAt: moment().nullable(),
    /** Until then one process asks for new tokens, and the others wait for them. */
    refreshUntil: moment().nullable().hidden(),
    state: p.enum(connectionStates).default('active'),
    /** The name of the account at the server, which only its person sees. */
    account: p.string().length(200).nullable(),
  },
  uniques: [{ name: 'mcp_connections_user_server_unique', properties: ['user', 'server'] }],
})
