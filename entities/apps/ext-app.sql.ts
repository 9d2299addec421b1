import type { SqlPredicate } from '../sql/scope.ts'
import { isoTime, statement } from '../sql/statement.ts'
import type { AppAbility } from './ext-app.ts'

/** Outcome of a connection, as reported to the app. */
export type ConnectStatus = 'success' | 'declined'

/** SQL for the app's first redirect URL, with the outcome of a connection in the query. */
export const redirectUrlWith =
  (status: ConnectStatus): SqlPredicate =>
  (app, sql) => {
    const url = `${app}.redirect_urls[1]`
    const mark = `case when position('?' in ${url}) > 0 then '&' else '?' end`
    return `${url} || ${mark} || ${sql.param('brand')} || '-connect-status=${status}'`
  }

/** SQL for the last expiry of an app's valid credentials; null if one never expires. */
export const credentialsEnd: SqlPredicate = (app) =>
  `(select ${isoTime(`nullif(max(coalesce(c.expires_at, 'infinity')), 'infinity')`)} from ext_app_credentials c where c.app_id = ${app}.id)`

export interface AppToConnect {
  id: string
  name: string
  description: string | null
  url: string
  redirectUrls: string[]
  logoUrl: string | null
  publicKey: string
  abilities: AppAbility[]
  needsKeys: boolean
  linkDays: number
  createdAt: string
  updatedAt: string
}

/** Finds an active app, with the data that a person sees before they agree. Values: its id. */
export const findAppToConnect = statement<AppToConnect>(
  'find-app-to-connect',
  `select id::text as id, name, description, url, redirect_urls as "redirectUrls",
          logo_url as "logoUrl", public_key as "publicKey", abilities, needs_keys as "needsKeys", link_days as "linkDays",
          ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
     from ext_apps a where id = $1::int and active`,
)

/** Locks an app against changes and new connections. Values: its id. */
export const lockApp = statement<{ inFile: boolean; publicKey: string }>(
  'lock-app',
  'select from_file as "inFile", public_key as "publicKey" from ext_apps where id = $1 for update',
)

/** Locks an app against changes. Values: its id. */
export const lockAppShared = statement<{ key: string }>(
  'lock-app-shared',
  'select public_key as key from ext_apps where id = $1 for share',
)

/** Values: its id. */
export const findAppName = statement<{ name: string }>('find-app-name', 'select name from ext_apps where id = $1')

export interface AppOverview {
  id: number
  name: string
  url: string
  abilities: AppAbility[]
  links: number
  active: boolean
  /** True if it is in the file that EXT_APPS names, as of the last sync. */
  fromFile: boolean
  createdAt: string
  /** Time of the last use of a credential. */
  lastUsedAt: string | null
}

const overview = `a.id, a.name, a.url, to_json(a.abilities) as abilities,
  (select count(*)::int from ext_app_links l where l.app_id = a.id) as links, a.active, a.from_file as "fromFile",
  ${isoTime('a.created_at')} as "createdAt",
  (select ${isoTime('max(c.last_used_at)')} from ext_app_credentials c where c.app_id = a.id) as "lastUsedAt"`

/** All apps, by name. */
export const listApps = statement<AppOverview>('list-apps', `select ${overview} from ext_apps a order by a.name`)

export interface AppDetails extends AppOverview {
  description: string | null
  redirectUrls: string[]
  logoUrl: string | null
  needsKeys: boolean
  linkDays: number
}

/** Values: the id of an app. */
export const showApp = statement<AppDetails>(
  'show-app',
  `select ${overview}, a.description, to_json(a.redirect_urls) as "redirectUrls", a.logo_url as "logoUrl",
          a.needs_keys as "needsKeys", a.link_days as "linkDays"
     from ext_apps a where a.id = $1::int`,
)

export interface ListedCredential {
  id: number
  createdAt: string
  expiresAt: string | null
  lastUsedAt: string | null
}

/** Values: the id of an app. */
export const listCredentials = statement<ListedCredential>(
  'list-app-credentials',
  `select id, ${isoTime('created_at')} as "createdAt", ${isoTime('expires_at')} as "expiresAt",
          ${isoTime('last_used_at')} as "lastUsedAt"
     from ext_app_credentials where app_id = $1::int order by id`,
)
