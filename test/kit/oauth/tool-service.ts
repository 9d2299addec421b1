import type { TestApp } from '../app.ts'
import { startGateway } from '../mcp/gateway.ts'
import { buildTool, startToolServer } from '../mcp/tool-server.ts'

import { buildQuery, CALLBACK, registerProgram } from './program.ts'

/** Settings under which people can sign in any program. */
export const OAUTH_ON = {
  ALLOW_EXTERNAL_COMMUNICATION: 'true',
  OAUTH_CLIENTS: 'any',
  OAUTH_REQUESTS_PER_MINUTE: '100000',
}

/** Starts the service with tool servers of these labels, each with an approved tool, and the sign-in for programs. */
export async function startWithTools(labels: readonly string[]) {
  await using resources = new AsyncDisposableStack()
  const servers = await Promise.all(
    labels.map(async (label) => ({ label, url: resources.use(await startToolServer([buildTool('find')])).url })),
  )
  const svc = resources.use(await startGateway(servers, OAUTH_ON))
  const moved = resources.move()
  return { ...svc, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

/** A verifier of a program that nobody attacks. */
export const VERIFIER = 'v'.repeat(43)

/** Registers a program, and returns the path to which it sends its person. */
export async function registerPath(svc: Pick<TestApp, 'url'>, { name = 'Cursor', redirectUri = CALLBACK } = {}) {
  return buildPath(await registerProgram(svc, [redirectUri], name), redirectUri)
}

/** Builds the path to which a program sends its person. */
export const buildPath = (clientId: string, redirectUri = CALLBACK): string =>
  `/oauth/authorize?${buildQuery({
    clientId,
    verifier: VERIFIER,
    parameters: { redirect_uri: redirectUri, state: 'a state', scope: 'mcp' },
  })}`
