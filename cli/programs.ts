import { defineCommand, type SubCommandsDef } from 'citty'
import type { Session } from './command-context.ts'
import { updateAvatar } from './commands/avatar.ts'
import { users } from './commands/list-users.ts'
import { makeMigration } from './commands/make-migration.ts'
import { migrate } from './commands/migrate.ts'
import { models } from './commands/models.ts'
import { settings } from './commands/settings.ts'
import { token } from './commands/token.ts'
import { usage } from './commands/usage.ts'
import { addUser, removeUser, setPassword, setRole } from './commands/users.ts'

/** A command line: its name and its commands by theirs. */
export interface Program {
  name: string
  description: string
  commands(session: Session): SubCommandsDef
}

export const svc: Program = {
  name: 'svc',
  description: 'Administration on the host',
  commands: (session) => ({
    token: token(session),
    'add-user': addUser(session),
    users: users(session),
    'set-role': setRole(session),
    'set-password': setPassword(session),
    'remove-user': removeUser(session),
    'update-avatar': updateAvatar(session),
    models: models(session),
    usage: usage(session),
    settings: settings(session),
    migrate: migrate(session),
    'migration:make': makeMigration(session),
  }),
}

/** The names of the specification, for the same commands. */
export const svcConsole: Program = {
  name: 'svc-console',
  description: 'Administration on the host',
  commands: (session) => ({
    'app:token': token(session),
    'app:removeuser': removeUser(session),
    'hawki:update-avatar': updateAvatar(session),
  }),
}

export const rootOf = ({ name, description, commands }: Program, session: Session) =>
  defineCommand({ meta: { name, description }, subCommands: commands(session) })
