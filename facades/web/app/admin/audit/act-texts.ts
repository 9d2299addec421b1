import { hasLabel, t } from '../../shared/text/labels.ts'

/** The sentences of acts by their procedures, as labels with `:actor` and `:subject`. */
const sentences: Readonly<Record<string, string>> = {
  'accountInvitations.accept': 'app.audit.acceptInvitation',
  'accountInvitations.create': 'app.audit.invite',
  'accountInvitations.end': 'app.audit.endInvitation',
  'admin.addUser': 'app.audit.addPerson',
  'admin.endSessions': 'app.audit.endSessions',
  'admin.removeUser': 'app.audit.removePerson',
  'aiTools.addModels': 'app.audit.change',
  'aiTools.removeModels': 'app.audit.change',
  'aiTools.replaceModels': 'app.audit.change',
  'announcements.make': 'app.audit.makeAnnouncement',
  'announcements.publish': 'app.audit.publish',
  'audit.export': 'app.audit.exportLog',
  'audit.list': 'app.audit.readLog',
  'backups.create': 'app.audit.backUp',
  'extApps.endLinks': 'app.audit.unlinkApp',
  'extApps.establishConnection': 'app.audit.linkApp',
  'extApps.rotateCredential': 'app.audit.rotateCredential',
  'extApps.sync': 'app.audit.syncApps',
  'keychain.changePasskey': 'app.audit.changePasskey',
  'limits.sync': 'app.audit.syncLimits',
  'limits.remove': 'app.audit.removeLimit',
  'limits.set': 'app.audit.setLimit',
  'limits.topUp': 'app.audit.topUpLimit',
  'mcp.approve': 'app.audit.approveTool',
  'mcp.setAccess': 'app.audit.setToolAccess',
  'mcp.sync': 'app.audit.syncTools',
  'mcp.tryTool': 'app.audit.tryTool',
  'models.check': 'app.audit.checkModels',
  'models.import': 'app.audit.importModels',
  'models.redirect': 'app.audit.redirectModel',
  'models.sync': 'app.audit.syncModels',
  'oauth.agree': 'app.audit.allowProgram',
  'oauth.block': 'app.audit.change',
  'oauth.endGrant': 'app.audit.endProgram',
  'oauth.endGrantFor': 'app.audit.endProgramOf',
  'oauth.registerClient': 'app.audit.registerProgram',
  'oauth.replayed': 'app.audit.replayedProgram',
  'oauth.rotateSecret': 'app.audit.rotateSecret',
  'ownAccount.remove': 'app.audit.removeOwnAccount',
  'passkey.reset': 'app.audit.resetPasskey',
  'password.change': 'app.audit.changePassword',
  'password.set': 'app.audit.setPassword',
  'personExports.download': 'app.audit.downloadData',
  'personExports.request': 'app.audit.requestData',
  'prompts.share': 'app.audit.create',
  'prompts.changeShared': 'app.audit.change',
  'prompts.deleteShared': 'app.audit.remove',
  'prices.import': 'app.audit.importPrices',
  'registration.complete': 'app.audit.register',
  'roomKeys.rekey': 'app.audit.rekeyRoom',
  'sharedLinks.change': 'app.audit.changeLink',
  'sharedLinks.create': 'app.audit.share',
  'sharedLinks.end': 'app.audit.endLink',
  'sharedLinks.endAll': 'app.audit.endLinks',
  'sharedLinks.endAny': 'app.audit.endLinkOf',
  'sharedLinks.upload': 'app.audit.storeCopy',
  'sessions.end': 'app.audit.endOwnSession',
  'sessions.endOthers': 'app.audit.endOwnSessions',
  'sessions.finishLogin': 'app.audit.signIn',
  'sessions.login': 'app.audit.signIn',
  'sessions.logout': 'app.audit.signOut',
  'sessions.logoutEverywhere': 'app.audit.signOutEverywhere',
  'tokens.create': 'app.audit.createToken',
  'tokens.createFor': 'app.audit.createTokenFor',
  'tokens.revoke': 'app.audit.revokeToken',
  'tokens.revokeFor': 'app.audit.revokeTokenFor',
  'toolAccounts.disconnect': 'app.audit.disconnectAccount',
  'toolAccounts.finish': 'app.audit.connectAccount',
  'usage.close': 'app.audit.closeMonth',
  'users.delete': 'app.audit.removePerson',
}

/** Sentences of acts that resources have in common, by the verb at the end of the procedure. */
const verbSentences: Readonly<Record<string, string>> = {
  create: 'app.audit.create',
  update: 'app.audit.change',
  delete: 'app.audit.remove',
}

interface AuditedAct {
  act: string
  outcome: string
  subject: string | null
}

/** Returns the label of the sentence for an entry: its own, that of its verb, or one that names the procedure. */
export function getSentenceKey({ act, outcome, subject }: AuditedAct): string {
  if (outcome !== 'ok') return getRefusalKey({ act, subject })
  const own = sentences[act] ?? (subject === null ? undefined : verbSentences[act.slice(act.indexOf('.') + 1)])
  if (own && (subject !== null || !needsSubject.has(own))) return own
  return subject === null ? 'app.audit.call' : 'app.audit.callOn'
}

function getRefusalKey({ act, subject }: Pick<AuditedAct, 'act' | 'subject'>): string {
  if (act === 'sessions.login' && subject !== null) return 'app.audit.refuseSignIn'
  return subject === null ? 'app.audit.refuseCall' : 'app.audit.refuseCallOn'
}

const needsSubject = new Set([
  'app.audit.acceptInvitation',
  'app.audit.invite',
  'app.audit.endInvitation',
  'app.audit.addPerson',
  'app.audit.endSessions',
  'app.audit.removePerson',
  'app.audit.change',
  'app.audit.makeAnnouncement',
  'app.audit.publish',
  'app.audit.redirectModel',
  'app.audit.rotateCredential',
  'app.audit.endProgramOf',
  'app.audit.registerProgram',
  'app.audit.replayedProgram',
  'app.audit.rotateSecret',
  'app.audit.approveTool',
  'app.audit.tryTool',
  'app.audit.setPassword',
  'app.audit.createTokenFor',
  'app.audit.revokeTokenFor',
])

/** Describes the outcome of an act: done, or the reason of a refusal if it has words. */
export function describeOutcome(outcome: string): string {
  const key = `app.audit.outcome.${outcome}`
  return t(hasLabel(key) ? key : 'app.audit.outcome.refused')
}

/** Members that a sentence names in words; the name of another member stands as it is. */
export const memberLabels: Readonly<Record<string, string>> = {
  active: 'app.audit.theState',
  apiKey: 'app.audit.theKey',
  apiUrl: 'app.audit.theAddress',
  blocked: 'app.audit.theBlock',
  disabled: 'app.audit.theBlock',
  groups: 'app.audit.theGroups',
  label: 'app.audit.theLabel',
  name: 'app.audit.theName',
  pricing: 'app.audit.thePrice',
  prompt: 'app.audit.theText',
  role: 'app.audit.theRole',
  subject: 'app.audit.theBinding',
  title: 'app.audit.theTitle',
  username: 'app.audit.theUsername',
}

/** The choices of acts in their groups; a value that ends with a dot is the beginning of acts. */
export const actGroups = [
  [
    'app.admin.people',
    [
      ['admin.', 'app.audit.actsOnPeople'],
      ['users.', 'app.audit.actsOnProfiles'],
      ['accountInvitations.', 'app.audit.actsOnInvitations'],
      ['personExports.', 'app.audit.actsOnExports'],
    ],
  ],
  [
    'app.admin.access',
    [
      ['sessions.', 'app.audit.actsOnSessions'],
      ['password.', 'app.audit.actsOnPasswords'],
      ['tokens.', 'app.admin.tokens'],
      ['extApps.', 'app.admin.apps'],
      ['toolAccounts.', 'app.audit.actsOnAccounts'],
      ['oauth.', 'app.admin.programs'],
    ],
  ],
  [
    'app.admin.models',
    [
      ['aiModels.', 'app.admin.models'],
      ['aiProviders.', 'app.admin.providers'],
      ['models.', 'app.audit.actsOnLists'],
      ['prices.', 'app.audit.actsOnPrices'],
      ['systemModels.', 'app.admin.tasks'],
      ['systemPrompts.', 'app.audit.actsOnPrompts'],
      ['prompts.', 'app.admin.prompts'],
      ['aiTools.', 'app.admin.tools'],
      ['mcp.', 'app.audit.actsOnApprovals'],
      ['mcpServers.', 'app.admin.servers'],
    ],
  ],
  [
    'app.audit.operation',
    [
      ['limits.', 'app.admin.limits'],
      ['usage.', 'app.admin.bills'],
      ['announcements.', 'app.admin.announcements'],
      ['backups.', 'app.audit.actsOnBackups'],
      ['audit.', 'app.admin.audit'],
    ],
  ],
] as const
