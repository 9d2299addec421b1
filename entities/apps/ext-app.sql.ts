import { isoTime, statement } from '../sql/statement.ts'
import type { AppAbility } from './ext-app.ts'

export const connectStatuses = ['success', 'declined'] as const

/** SQL for an address with the outcome of a connection in its query, as an app is told it. */
const withStatus = (url: string, status: (typeof connectStatuses)[number]) =>
  `${url} || case when position('?' in ${url}) > 0 then '&' else '?' end || 'svc-connect-status=${status}'`

/** SQL for where the browser goes from here, for an app under an alias. */
export const acceptedUrl = (app: string) => withStatus(`${app}.redirect_urls[1]`, 'success')
export const declinedUrl = (app: string) => withStatus(`${app}.redirect_urls[1]`, 'declined')

export interface AppToConnect {
  id: string
  name: string
  description: string | null
  url: string
  redirectUrls: string[]
  redirectOnConnectionAccepted: string
  redirectOnConnectionDeclined: string
  logoUrl: string | null
  publicKey: string
  abilities: AppAbility[]
  needsKeys: boolean
  linkDays: number
  createdAt: string
  updatedAt: string
}

/** Values: the id of an app. What a person is told of it before they agree. */
export const findAppToConnect = statement<AppToConnect>(
  'find-app-to-connect',
  `select id::text as id, name, description, url, redirect_urls as "redirectUrls",
          ${acceptedUrl('a')} as "redirectOnConnectionAccepted", ${declinedUrl('a')} as "redirectOnConnectionDeclined",
          logo_url as "logoUrl", public_key as "publicKey", abilities, needs_keys as "needsKeys", link_days as "linkDays",
          ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
     from ext_apps a where id = $1::int`,
)
