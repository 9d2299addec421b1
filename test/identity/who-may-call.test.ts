import { describe, expect, test } from 'vitest'
import { type Ability, abilities } from '../../entities/identity/access-token.ts'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { type CallDetails, createContext } from '../../routers/core/context.ts'
import { createCallerFactory } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { wholeRouter, withAssistants } from '../kit/json-api/assistants.ts'
import { base } from '../kit/json-api/client.ts'

const kinds = [
  'guest',
  'registering',
  'user',
  'administrator',
  'token of a user',
  'token of an admin',
  'external app',
  'host',
] as const
type Kind = (typeof kinds)[number]

/**
 * Result for each kind of caller, by the kind of procedure. Tokens have all abilities here, and calls of the host come
 * from no particular person.
 */
const [columns = [], ...lines] = `
                          | guest      | registering     | user         | administrator | token of a user | token of an admin | external app    | host
  anyone or an app        | let in     | let in          | let in       | let in        | let in          | let in            | let in          | let in
  anyone                  | let in     | let in          | let in       | let in        | let in          | let in            | wrong_user_type | let in
  an external app         | signed_out | wrong_user_type | wrong_user_type | wrong_user_type | wrong_user_type | wrong_user_type | let in          | signed_out
  anyone in a browser     | let in     | let in          | let in       | let in        | session_only    | session_only      | wrong_user_type | session_only
  signed in, in a browser | signed_out | let in          | let in       | let in        | session_only    | session_only      | wrong_user_type | signed_out
  a user in a browser     | signed_out | wrong_user_type | let in       | let in        | session_only    | session_only      | wrong_user_type | signed_out
  a user                  | signed_out | wrong_user_type | let in       | let in        | let in          | let in            | wrong_user_type | signed_out
  a user or an app        | signed_out | wrong_user_type | let in       | let in        | let in          | let in            | let in          | signed_out
  an administrator        | signed_out | admin_only      | admin_only   | let in        | admin_only      | let in            | admin_only      | let in
  an administrator in a browser | signed_out | admin_only | admin_only | let in | admin_only      | session_only      | admin_only      | let in
  the host                | host_only  | host_only       | host_only    | host_only     | host_only       | host_only         | host_only       | let in
`
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))

const LET_IN = 'let in'

const answersTo = (open: string): Record<string, string> => {
  const line = lines.find(([group]) => group === open) ?? []
  return Object.fromEntries(kinds.map((kind) => [kind, line[columns.indexOf(kind)] ?? 'not in the table']))
}

/**
 * Procedures by their permitted callers, and the abilities that a token needs for them. Those that need `admin` also need
 * a fresh session.
 */
const table: { open: string; by?: Ability | readonly Ability[]; to: string }[] = [
  { open: 'anyone or an app', to: 'connections.get' },
  { open: 'an external app', to: 'connections.delete' },
  { open: 'anyone', to: 'configs.list configs.get configs.public health.check health.ready' },
  { open: 'anyone', to: 'announcements.latestPolicy pages.visit sessions.current translationLabels.get' },
  { open: 'anyone', to: 'oauth.token oauth.register oauth.revoke oauth.offersDocuments' },
  { open: 'anyone', to: 'toolAccounts.clientDocument' },
  { open: 'anyone in a browser', to: 'sessions.login sessions.beginLogin sessions.finishLogin sessions.logout' },
  { open: 'anyone in a browser', to: 'accountInvitations.open accountInvitations.accept' },
  { open: 'anyone in a browser', to: 'language.change appearance.change' },
  { open: 'signed in, in a browser', to: 'registration.complete' },
  { open: 'a user in a browser', to: 'sessions.list sessions.end sessions.endOthers sessions.logoutEverywhere' },
  { open: 'a user in a browser', to: 'announcements.markSeen announcements.accept migrations.markApplied' },
  { open: 'a user in a browser', to: 'passkey.backup passkey.renewBackup passkey.reset' },
  { open: 'a user in a browser', to: 'keychain.form keychain.rewrap keychain.changePasskey' },
  { open: 'a user in a browser', to: 'password.state password.change ownAccount.removal ownAccount.remove' },
  { open: 'a user in a browser', to: 'personExports.current personExports.request personExports.download' },
  {
    open: 'a user in a browser',
    to: 'toolAccounts.list toolAccounts.connect toolAccounts.finish toolAccounts.disconnect',
  },
  { open: 'a user in a browser', to: 'tokens.create tokens.bindable tokens.list tokens.revoke' },
  { open: 'a user in a browser', to: 'oauth.request oauth.agree oauth.decline oauth.grants oauth.endGrant' },
  {
    open: 'a user',
    by: 'ai',
    to: 'ai.ask ai.stream ai.approve ai.complete ai.completeStream ai.countTokens ai.embed ai.models ai.reserve',
  },
  {
    open: 'a user',
    by: 'mcp',
    to: 'mcpGateway.offers mcpGateway.listTools mcpGateway.callTool mcpGateway.listPrompts mcpGateway.getPrompt mcpGateway.listResources mcpGateway.listResourceTemplates mcpGateway.listChanges mcpGateway.readResource',
  },
  { open: 'a user in a browser', to: 'mcpGateway.questions mcpGateway.answer' },
  { open: 'a user in a browser', to: 'ai.approvals ai.revokeApproval' },
  { open: 'a user in a browser', to: 'extApps.establishConnection extApps.links extApps.endLinks' },
  { open: 'a user in a browser', to: 'consentPage.asked consentPage.links appLogos.read' },
  { open: 'a user', by: 'read', to: 'extApps.list extApps.get' },
  { open: 'a user or an app', by: 'user', to: 'users.me' },
  { open: 'a user', by: 'write', to: 'users.update' },
  { open: 'a user', by: 'keychain', to: 'userKeychainValues.batchUpdate' },
  { open: 'a user', by: 'read', to: 'userKeychainValues.list userKeychainValues.get userKeychainValues.related' },
  { open: 'a user', by: 'read', to: 'userKeychainValues.validator usage.summary usage.limits' },
  {
    open: 'a user',
    by: 'read',
    to: 'users.list users.get users.related users.picture users.findPeople users.changesSince users.changes',
  },
  {
    open: 'a user',
    by: 'read',
    to: 'announcements.pending announcements.read migrations.list migrations.get',
  },
  { open: 'a user', by: 'read', to: 'aiModelFlags.list aiModelFlags.get' },
  { open: 'a user', by: 'read', to: 'aiToolCapabilities.list aiToolCapabilities.get' },
  { open: 'a user', by: 'read', to: 'aiModels.list aiModels.get aiModels.related' },
  { open: 'a user', by: 'read', to: 'aiModelDescriptions.list aiModelDescriptions.get aiModelDescriptions.related' },
  { open: 'a user', by: 'read', to: 'aiProviders.list aiProviders.get aiProviders.related' },
  { open: 'a user', by: 'read', to: 'aiTools.list aiTools.get aiTools.related' },
  { open: 'a user', by: 'read', to: 'mcpServers.list mcpServers.get mcpServers.related' },
  {
    open: 'a user',
    by: 'read',
    to: 'attachments.list attachments.get attachments.related attachments.download attachments.text',
  },
  { open: 'a user', by: 'read', to: 'attachments.stored' },
  { open: 'a user', by: 'write', to: 'attachments.upload attachments.delete' },
  {
    open: 'a user',
    by: 'read',
    to: 'rooms.list rooms.get rooms.related rooms.picture rooms.changesSince rooms.changes',
  },
  { open: 'a user', by: 'write', to: 'rooms.create rooms.update rooms.delete rooms.arrange' },
  { open: 'a user', by: 'read', to: 'roomKeys.list realtime.authorize rooms.disclosures' },
  { open: 'a user', by: 'ai', to: 'rooms.ask rooms.cancelAnswer' },
  { open: 'a user', by: 'read', to: 'linkPreviews.metadata linkPreviews.image linkPreviews.favicon' },
  { open: 'a user', by: 'write', to: 'roomKeys.recipients roomKeys.rekey roomKeys.prove' },
  { open: 'a user', by: 'read', to: 'roomMembers.list roomMembers.get roomMembers.related roomMembers.preview' },
  { open: 'a user', by: 'write', to: 'roomMembers.create roomMembers.accept roomMembers.update roomMembers.delete' },
  { open: 'a user', by: 'read', to: 'roomMessages.list roomMessages.get roomMessages.related' },
  { open: 'a user', by: 'write', to: 'roomMessages.create roomMessages.update roomMessages.delete rooms.markRead' },
  { open: 'a user', by: 'write', to: 'rooms.markUnread roomReactions.add roomReactions.remove' },
  { open: 'a user', by: 'read', to: 'roomReactions.list' },
  { open: 'a user', by: 'read', to: 'conversations.list conversations.get conversations.messages attachments.find' },
  {
    open: 'a user',
    by: 'read',
    to: 'rooms.find rooms.lastMessages roomMessages.find roomMembers.invitations roomMembers.own roomMembers.events',
  },
  { open: 'a user', by: 'write', to: 'roomMembers.inviteByName' },
  { open: 'a user', by: 'read', to: 'conversations.folders conversations.quota conversations.settings' },
  {
    open: 'a user',
    by: 'write',
    to: 'conversations.create conversations.import conversations.update conversations.delete',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'conversations.organize conversations.changeFolder conversations.discard conversations.restore conversations.changeSettings',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'conversations.organizeSelected conversations.discardSelected conversations.restoreSelected',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'conversations.sendMessage conversations.updateMessage conversations.deleteMessage',
  },
  { open: 'a user', by: 'read', to: 'sharedLinks.rules sharedLinks.list' },
  {
    open: 'a user',
    by: 'write',
    to: 'sharedLinks.create sharedLinks.upload sharedLinks.change sharedLinks.end sharedLinks.endAll',
  },
  { open: 'anyone', to: 'sharedLinks.visit sharedLinks.copy' },
  { open: 'an administrator in a browser', to: 'sharedLinks.overview' },
  { open: 'an administrator', by: 'write', to: 'sharedLinks.endAny' },
  { open: 'the host', to: 'sharedLinks.deleteEnded' },
  {
    open: 'a user',
    by: 'read',
    to: 'assistants.list assistants.get assistants.groups assistants.versions assistants.version',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'assistants.create assistants.save assistants.publish assistants.restore assistants.share assistants.handOver assistants.delete assistants.leave assistants.remix assistants.setAvatar assistants.favorite',
  },
  {
    open: 'a user',
    by: 'read',
    to: 'knowledge.list knowledge.files knowledge.search knowledge.compare knowledge.openCitation',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'knowledge.create knowledge.delete knowledge.deleteFile knowledge.upload knowledge.cancel',
  },
  {
    open: 'a user',
    by: 'read',
    to: 'assistantTypes.list assistantTypes.get assistantTypes.related assistantVersions.list assistantVersions.get assistantVersions.related assistantUserPrompts.get assistantUserPrompts.related assistantTags.list assistantTags.get',
  },
  {
    open: 'a user',
    by: 'write',
    to: 'assistantTypes.create assistantTypes.update assistantTypes.delete assistantTypes.addTags assistantTypes.replaceTags assistantTypes.removeTags assistantTypes.favorite assistantTypes.unfavorite assistantTypes.remix assistantTypes.release assistantUserPrompts.create assistantUserPrompts.delete',
  },
  { open: 'a user', by: 'read', to: 'prompts.list' },
  { open: 'a user', by: 'write', to: 'prompts.create prompts.update prompts.delete' },
  {
    open: 'an administrator in a browser',
    to: 'prompts.shared prompts.share prompts.changeShared prompts.deleteShared',
  },
  { open: 'an administrator in a browser', to: 'assistants.overview' },
  { open: 'an administrator', by: 'read', to: 'assistants.waiting assistants.review' },
  { open: 'an administrator', by: 'write', to: 'assistants.approve assistants.refuse' },
  {
    open: 'the host',
    to: 'knowledge.read knowledge.giveUp knowledge.planLost knowledge.embed knowledge.giveUpEmbedding knowledge.index knowledge.prepareIndex knowledge.rebuild knowledge.deleteRetired knowledge.compareSource knowledge.uploadFor knowledge.deleteFilesFor knowledge.searchFor',
  },
  { open: 'the host', to: 'assistants.applyFile assistants.publishAny' },
  { open: 'a user', by: 'read', to: 'systemModels.list systemModels.get systemModels.related' },
  { open: 'a user', by: 'read', to: 'systemPrompts.list systemPrompts.get systemPrompts.related' },
  {
    open: 'an administrator',
    by: 'write',
    to: 'extApps.update extApps.delete announcements.make announcements.publish announcements.changeTexts',
  },
  { open: 'an administrator', by: ['write', 'admin'], to: 'extApps.create extApps.rotateCredential users.delete' },
  { open: 'an administrator', by: 'read', to: 'usage.report usage.tools audit.list audit.actors' },
  { open: 'an administrator', by: 'metrics', to: 'metrics.read' },
  { open: 'an administrator', by: 'write', to: 'aiModels.create aiModels.update aiModels.delete' },
  { open: 'an administrator', by: 'write', to: 'aiModelDescriptions.create aiModelDescriptions.update' },
  { open: 'an administrator', by: 'write', to: 'aiModelDescriptions.delete' },
  { open: 'an administrator', by: 'write', to: 'aiProviders.create aiProviders.update aiProviders.delete' },
  { open: 'an administrator', by: 'write', to: 'aiTools.update aiTools.addModels aiTools.replaceModels' },
  { open: 'an administrator', by: 'write', to: 'aiTools.removeModels' },
  { open: 'an administrator', by: 'write', to: 'mcpServers.create mcpServers.update mcpServers.delete' },
  { open: 'an administrator', by: 'write', to: 'systemModels.create systemModels.update systemModels.delete' },
  { open: 'an administrator', by: 'write', to: 'systemPrompts.create systemPrompts.update systemPrompts.delete' },
  {
    open: 'an administrator in a browser',
    to: 'accountInvitations.list users.search users.show tokens.find tokens.listFor limits.list limits.show limits.of limits.preview limits.unresolved usage.list usage.bill',
  },
  {
    open: 'an administrator in a browser',
    to: 'mcp.accounts mcp.servers mcp.tools models.explain models.list models.origins models.unresolved prices.check announcements.list announcements.receipts announcements.texts extApps.overview extApps.show',
  },
  {
    open: 'an administrator in a browser',
    to: 'audit.verify deprecations.callers files.stats files.expired realtime.replicas settings.list overview.health overview.calls overview.models overview.limits overview.endings overview.decisions overview.changes overview.changesSince',
  },
  {
    open: 'an administrator',
    by: 'admin',
    to: 'accountInvitations.create accountInvitations.end admin.addUser admin.setRole admin.setGroups admin.setDisabled admin.endSessions admin.renameUser admin.removeUser',
  },
  {
    open: 'an administrator',
    by: 'admin',
    to: 'files.verify usage.close password.set tokens.revokeFor limits.set limits.remove limits.topUp mcp.sync mcp.check mcp.approve mcp.setAccess mcp.tryTool',
  },
  { open: 'an administrator', by: 'admin', to: 'models.check models.import models.setGroups' },
  {
    open: 'an administrator',
    by: 'admin',
    to: 'oauth.block oauth.endGrantFor oauth.registerClient oauth.rotateSecret',
  },
  { open: 'an administrator in a browser', to: 'oauth.clients oauth.grantsOf' },
  {
    open: 'the host',
    to: 'admin.bindUser admin.updateAiAvatar admin.state migrations.register users.find prices.import usage.by usage.rollUp',
  },
  {
    open: 'the host',
    to: 'models.sync models.watch models.beginOutage models.endOutage models.checkOutages limits.sync limits.simulate',
  },
  { open: 'the host', to: 'audit.export audit.upkeep changeLog.restored extApps.sync conversations.deleteDiscarded' },
  { open: 'the host', to: 'rooms.endLostAnswers rooms.deleteOldDisclosures roomMembers.deleteExpiredInvitations' },
  { open: 'the host', to: 'backups.create backups.verify toolAccounts.revoke' },
  {
    open: 'the host',
    to: 'personExports.requestFor personExports.write personExports.make personExports.giveUp personExports.deleteExpired',
  },
  { open: 'the host', to: 'attachments.readText attachments.giveUpText files.rotate files.sweep' },
  {
    open: 'the host',
    to: 'files.deleteExpired files.planLostTexts tokens.createFor tokens.deleteExpired oauth.deleteExpired oauth.check',
  },
]

const rows = table.flatMap(({ to, open, by = [] }) =>
  to.split(' ').map((name) => ({ name, open, needed: [by].flat() })),
)
const declared = Object.entries(wholeRouter._def.procedures as unknown as Record<string, { _def: { type: string } }>)
const typeOf = new Map(declared.map(([name, { _def }]) => [name, _def.type]))
/** The addresses of the procedures that only JSON:API has. */
const jsonApiRoutes = new Map(
  buildRoutes(wholeRouter).flatMap(({ name, method, url }) =>
    name === undefined || name in appRouter._def.procedures ? [] : [[name, { method, url }]],
  ),
)
const createCaller = createCallerFactory(wholeRouter)

/** Problems that mean a refusal; any other result means that the caller was let in. */
const refusals = [
  'signed_out',
  'wrong_user_type',
  'session_only',
  'admin_only',
  'host_only',
  'missing_ability',
  'external_communication_off',
  'fresh_login_needed',
]

/** Input that no procedure accepts, so that a permitted caller changes nothing. */
const NONSENSE = 'nonsense'

const toOutcome = (problem: unknown) => (refusals.includes(String(problem)) ? String(problem) : LET_IN)

/** Calls a procedure over HTTP; returns the refusal or `let in`. */
async function overHttp(send: TestBrowser['send'], name: string): Promise<string> {
  const input = JSON.stringify(NONSENSE)
  const route = jsonApiRoutes.get(name)
  if (route) {
    const path = base + route.url.replace(':id', NONSENSE)
    const { body } = await send(route.method, path, route.method === 'GET' ? {} : { body: input })
    return toOutcome((body as { errors?: { code: string }[] }).errors?.[0]?.code)
  }
  const isQuery = typeOf.get(name) === 'query'
  const path = `/trpc/${name}${isQuery ? `?input=${encodeURIComponent(input)}` : ''}`
  const { body } = isQuery ? await send('GET', path) : await send('POST', path, { body: input })
  return toOutcome((body as { error?: { data: { problem?: string } } } | undefined)?.error?.data.problem)
}

/** Calls a procedure in process, for callers that a test cannot be by HTTP. */
async function inProcess(svc: TestApp, name: string, call: Partial<CallDetails>): Promise<string> {
  const api = createCaller(() => createContext(svc.services, { ...call, requestId: 'test' }))
  const [part = '', verb = ''] = name.split('.')
  const procedure = (api as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>)[part]?.[
    verb
  ]
  const thrown = await procedure?.(NONSENSE).then(
    () => undefined,
    (error: { problem?: string }) => error,
  )
  return toOutcome(thrown?.problem)
}

const bearer =
  (url: string, token: string): TestBrowser['send'] =>
  (method, path, sending) =>
    openBrowser(url).send(method, path, { ...sending, headers: { authorization: `Bearer ${token}` } })

/** Creates callers of every kind; each can call any procedure repeatedly. */
async function everybody(svc: TestApp) {
  await addAccount(svc, 'newcomer', { known: false })
  const { token } = await addAccount(svc, 'ada')
  const { token: rootToken } = await addAccount(svc, 'root')
  await svc.host.admin.setRole({ user: { username: 'root' }, role: 'admin' })
  const all = [...abilities]
  await svc.rows('update access_tokens set abilities = $1', [all])
  const signedIn = (account: string) => {
    const browser = openBrowser(svc.url)
    return async (name: string) => {
      // One of the procedures deletes the caller's keys, which would make them a registering person.
      await svc.rows('update users set public_key = $1 where public_key is null and id > 1', [makePublicKey()])
      if (!browser.session) await browser.login(account)
      return overHttp(browser.send, name)
    }
  }
  const app = {
    caller: { type: 'external-app', appId: 1, name: 'App', createdAt: '', updatedAt: '' },
    usage: 'external',
  } as const
  const callers: Record<Kind, (name: string) => Promise<string>> = {
    guest: (name) => overHttp(openBrowser(svc.url).send, name),
    registering: signedIn('newcomer'),
    user: signedIn('ada'),
    administrator: signedIn('root'),
    'token of a user': (name) => overHttp(bearer(svc.url, token), name),
    'token of an admin': (name) => overHttp(bearer(svc.url, rootToken), name),
    'external app': (name) => inProcess(svc, name, app),
    host: (name) => inProcess(svc, name, { origin: 'host' }),
  }
  return { callers, rootToken }
}

describe('the table of permissions', () => {
  test('the table of permissions has every procedure exactly once', () => {
    expect(rows.map(({ name }) => name).sort()).toEqual([...typeOf.keys()].sort())
  })

  test('each procedure accepts and refuses callers as the table says', async () => {
    await using svc = await startApp(withAssistants)
    const { callers } = await everybody(svc)

    for (const { name, open } of rows) {
      const outcomes = await Promise.all(kinds.map(async (kind) => [kind, await callers[kind](name)] as const))
      expect(Object.fromEntries(outcomes), name).toEqual(answersTo(open))
    }
  })

  test('a token may call only with the declared abilities, and needs no other', async () => {
    await using svc = await startApp(withAssistants)
    const { rootToken } = await everybody(svc)

    const callWith = async (has: readonly Ability[], name: string) => {
      await svc.rows('update access_tokens set abilities = $1', [has])
      return overHttp(bearer(svc.url, rootToken), name)
    }
    for (const { name, needed } of rows) {
      if (needed.length === 0) continue
      expect([name, await callWith(needed, name)]).toEqual([name, LET_IN])
      for (const lacking of needed) {
        const others = abilities.filter((ability) => ability !== lacking)
        expect([name, lacking, await callWith(others, name)]).toEqual([name, lacking, 'missing_ability'])
      }
    }
  })

  test('an administrator is asked to sign in again where a recent login is required', async () => {
    await using svc = await startApp(withAssistants)
    const { callers } = await everybody(svc)
    await callers.administrator('settings.list')
    await svc.rows(`update sessions set signed_in_at = now() - interval '10 minutes'`)

    for (const { name, open, needed } of rows) {
      if (!open.startsWith('an administrator')) continue
      const expected = needed.includes('admin') ? 'fresh_login_needed' : LET_IN
      expect([name, await callers.administrator(name)]).toEqual([name, expected])
    }
  })

  test('no procedure accepts a token while the switch is off', async () => {
    await using svc = await startApp({ ...withAssistants, ALLOW_EXTERNAL_COMMUNICATION: 'false' })
    const { browser, token } = await signIn(svc)

    for (const { name } of rows)
      expect(await overHttp(bearer(svc.url, token), name), name).toBe('external_communication_off')
    expect(await browser.standing()).toBe('internal_authenticated')
  })
})
