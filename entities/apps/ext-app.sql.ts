import type { SqlPredicate } from '../sql/scope.ts'
import { isoTime, statement } from '../sql/statement.ts'
import type { AppAbility } from './ext-app.ts'

/** How a connection ended, as an app is told it. */
export type ConnectStatus = 'success' | 'declined'

/** SQL for where browsers usually go back to, with the outcome of a connection in the query. */
export const backWith =
  (status: ConnectStatus): SqlPredicate =>
  (app, sql) => {
    const url = `${app}.redirect_urls[1]`
    const mark = `case when position('?' in ${url}) > 0 then '&' else '?' end`
    return `${url} || ${mark} || ${sql.param('brand')} || '-connect-status=${status}'`
  }

/** SQL for until when an app has a credential that works; null where one has no end. */
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

/** Values: the id of an app that is switched on. What a person is told of it before they agree. */
export const findAppToConnect = statement<AppToConnect>(
  'find-app-to-connect',
  `select id::text as id, name, description, url, redirect_urls as "redirectUrls",
          logo_url as "logoUrl", public_key as "publicKey", abilities, needs_keys as "needsKeys", link_days as "linkDays",
          ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
     from ext_apps a where id = $1::int and active`,
)

/** Values: its id. Whoever changes the app, or connects to it, waits. */
export const lockApp = statement<{ inFile: boolean; publicKey: string }>(
  'lock-app',
  'select from_file as "inFile", public_key as "publicKey" from ext_apps where id = $1 for update',
)

/** Values: its id. Whoever changes the app waits. */
export const shareApp = statement<{ key: string }>(
  'share-app',
  'select public_key as key from ext_apps where id = $1 for share',
)

/** Values: its id. */
export const findAppName = statement<{ name: string }>('find-app-name', 'select name from ext_apps where id = $1')
