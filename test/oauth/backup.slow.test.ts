import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { callFromPage, startOAuth, startPersonWithProgram, tryToken } from '../kit/oauth/program.ts'

const APP_KEY = 'the key of the installation, which is kept apart from its backups'

const readGrants = `select g.id, g.token_id as token, g.generation, g.ends_at as "endsAt", g.servers, c.client_id as client
  from oauth_grants g join oauth_clients c on c.id = g.client_id order by g.id`

test("a restored installation has the programs' grants, and knows their tokens", async () => {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'svc-grants-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const svc = resources.use(await startOAuth({ APP_KEY }))
  const ada = await startPersonWithProgram(svc, 'ada')
  const ended = await startPersonWithProgram(svc, 'bob')
  const { data } = await callFromPage(ended.browser, 'oauth.grants')
  await callFromPage(ended.browser, 'oauth.endGrant', { id: (data as { id: number }[])[0]?.id })
  const before = await svc.rows(readGrants)
  expect(before).toHaveLength(1)
  const old = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY, DATABASE_POOL: '2' }
  const copy = join(folder, 'copy')
  expect(await runCommand(['backup', 'create', copy], { env: old })).toMatchObject({ exitCode: 0, stderr: '' })
  // Ada's program goes on with tokens that the backup does not have.
  const renewed = await ada.program.refresh()

  const database = resources.use(await createEmptyDatabase())
  const fresh = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), APP_KEY, DATABASE_POOL: '2' }
  expect(await runCommand(['backup', 'restore', copy], { env: fresh })).toMatchObject({ exitCode: 0, stderr: '' })
  const address = { BASE_URL: svc.env.BASE_URL ?? '', PORT: String(await findFreePort()) }
  const again = resources.use(await startApp({ ...fresh, ...address }))

  expect(await again.rows(readGrants)).toEqual(before)
  // The gateway refuses the method of a caller that it knows.
  const tryGateway = (token: string) => tryToken(again, token, '/mcp')
  expect(await tryGateway(ada.program.tokens.access_token)).toBe(405)
  expect(await tryGateway(ended.program.tokens.access_token)).toBe(401)
  const ahead = await ada.program.refresh(String(renewed.body['refresh_token']), again)
  expect(ahead.status).toBe(200)
  expect(await tryGateway(String(ahead.body['access_token']))).toBe(405)
  expect((await ended.program.refresh(undefined, again)).status).toBe(400)
})
