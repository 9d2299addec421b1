import { isoTime, statement } from '../sql/statement.ts'
import type { AppAbility } from './ext-app.ts'

export interface AppOverview {
  id: number
  name: string
  url: string
  abilities: AppAbility[]
  links: number
  active: boolean
  /** Whether it stands in the file that EXT_APPS names, as that was read last. */
  fromFile: boolean
  createdAt: string
  /** When a credential of it was last used. */
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

export interface KnownCredential {
  id: number
  createdAt: string
  expiresAt: string | null
  lastUsedAt: string | null
}

/** Values: the id of an app. */
export const listCredentials = statement<KnownCredential>(
  'list-app-credentials',
  `select id, ${isoTime('created_at')} as "createdAt", ${isoTime('expires_at')} as "expiresAt",
          ${isoTime('last_used_at')} as "lastUsedAt"
     from ext_app_credentials where app_id = $1::int order by id`,
)
