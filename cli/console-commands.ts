import { type CommandDef, defineCommand, type SubCommandsDef } from 'citty'
import type { CommandContext } from './command-context.ts'
import { makeAnnouncementCommand, publishAnnouncementCommand } from './commands/announcement.ts'
import { createAppCommand, listAppsCommand, removeAppCommand } from './commands/apps.ts'
import { updateAvatarCommand } from './commands/avatar.ts'
import { makeMigrationCommand } from './commands/make-migration.ts'
import { checkServersCommand, listServersCommand, listToolsCommand, syncServersCommand } from './commands/mcp.ts'
import { migrateCommand } from './commands/migrate.ts'
import { checkModelsCommand, listModelsCommand, syncModelsCommand } from './commands/models.ts'
import { tokenCommand } from './commands/token.ts'
import { removeUserCommand } from './commands/users.ts'
import { UsageError } from './errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: so does citty declare a command with any arguments.
type CommandFactory = (context: CommandContext) => CommandDef<any>

/** Commands under the names of the specification and of earlier versions. */
export const aliases: Readonly<Record<string, CommandFactory>> = {
  'app:token': tokenCommand,
  'app:removeuser': removeUserCommand,
  'hawki:update-avatar': updateAvatarCommand,
  'svc:update-avatar': updateAvatarCommand,
  'announcement:make': makeAnnouncementCommand,
  'announcement:publish': publishAnnouncementCommand,
  'ext-app:create': createAppCommand,
  'ext-app:list': listAppsCommand,
  'ext-app:remove': removeAppCommand,
  'ai:models:list': listModelsCommand,
  'ai:config:sync': withIgnoredFlags(syncModelsCommand, { force: 'Every sync is complete.' }),
  'ai:models:sync': withIgnoredFlags(syncModelsCommand, { force: 'Every sync is complete.' }),
  'ai:check-status': checkModelsCommand,
  'ai:models:check-status': checkModelsCommand,
  'check:model-status': checkModelsCommand,
  'ai:tools:check-status': checkServersCommand,
  'ai:tools:list': listToolsCommand,
  'ai:tools:sync': withIgnoredFlags(syncServersCommand, { 'mcp-only': 'All tools come from tool servers.' }),
  'ai:tools:mcp:list': listServersCommand,
  'make:frontend-migration': makeMigrationCommand,
  migrate: migrateCommand,
}

/** Names of earlier versions without a command, and what replaces them. */
export const replacedCommands: Readonly<Record<string, string>> = {
  'app:fetch-user-records': '`svc usage --by user` sums up the use of models.',
  'usage:top-users': '`svc usage --by user` lists who uses models most.',
  'usage:summarize-monthly':
    '`svc usage` reports; RETENTION_USAGE_MONTHS says from when on the service keeps sums by day alone.',
  'app:list-gwdg': '`svc models check` asks every provider what it offers.',
  'check:storage': '`svc files verify` reads what is stored; GET /health tells whether files can be written.',
  'filestorage:cleanup': 'The service does it itself; `svc files expired` shows what RETENTION_FILES_MONTHS lets go.',
  'filestorage:converter:types:list':
    '`svc settings` shows ALLOWED_FILE_MIME_TYPES; the config block storage_files lists all.',
  'migrate:avatars': 'Pictures are where they belong; `svc files stats` counts files.',
  'ai:tools:configure': 'PATCH /ai-tools/{id} of the JSON:API changes a tool; `svc mcp approve` lets models call it.',
  'ai:tools:assign': 'POST and DELETE /ai-tools/{id}/relationships/models of the JSON:API link tools to models.',
  'ai:tools:mcp:add': 'Name the server in AI_CONFIG, or POST it to /mcp-servers of the JSON:API; then `svc mcp sync`.',
  'ai:tools:mcp:configure': 'Change the server in AI_CONFIG, or PATCH /mcp-servers/{id} of the JSON:API.',
  'ai:tools:mcp:remove': 'Take the server out of AI_CONFIG, or DELETE /mcp-servers/{id} of the JSON:API.',
  'dev:helper:repository': 'Nothing is generated; routers/README.md says how a type is made.',
  'dev:ai:update-lite-llm-static-data': '`svc prices import` reads a list of prices.',
  'queue:work': 'The service does the jobs itself.',
  'queue:restart': 'The service does the jobs itself; restart it.',
  'schedule:work': 'The service does regular tasks itself.',
  'reverb:start': 'The service has the sockets itself; `svc realtime` shows them.',
  'storage:link': 'Files are served by the service alone.',
  'key:generate': '`openssl rand -base64 48` makes an APP_KEY; .env.example says where it goes.',
  'config:cache': 'Settings are read at each start; `svc settings` shows them.',
  'route:cache': 'There is nothing to cache; restart the service.',
  'view:cache': 'There is nothing to cache; restart the service.',
  'cache:clear': 'There is no cache to clear; restart the service.',
  down: 'Stop the service; it finishes what is under way.',
  up: 'Start the service with `npm start`.',
  'backup:run': '`svc backup create FOLDER` copies the database and the files into a new folder.',
  'backup:list': 'Each backup is the folder that `svc backup create FOLDER` wrote.',
  'backup:clean': 'Each backup is the folder that `svc backup create FOLDER` wrote; delete it.',
  'backup:monitor': '`svc backup verify FOLDER` checks a backup.',
}

/** Returns all older names: each one either works or says what replaces it. */
export const listConsoleCommands = (context: CommandContext): SubCommandsDef => ({
  ...Object.fromEntries(Object.entries(aliases).map(([name, command]) => [name, command(context)])),
  ...Object.fromEntries(
    Object.entries(replacedCommands).map(([name, sentence]) => [name, createReplacedCommand(name, sentence)]),
  ),
})

/** Has no flags, so that old flags of the command cause no other error. */
const createReplacedCommand = (name: string, sentence: string) =>
  defineCommand({
    meta: { description: `This command is replaced. ${sentence}` },
    run() {
      throw new UsageError(`${name} is replaced. ${sentence}`)
    },
  })

/** Also accepts flags of earlier versions, which have no effect. */
function withIgnoredFlags(command: CommandFactory, flags: Readonly<Record<string, string>>): CommandFactory {
  const more = Object.fromEntries(
    Object.entries(flags).map(([name, reason]) => [
      name,
      { type: 'boolean', description: `This flag changes nothing. ${reason}` } as const,
    ]),
  )
  return (context) => {
    const { args, ...rest } = command(context)
    return { ...rest, args: { ...args, ...more } }
  }
}
