import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'
import { ExtApp } from './ext-app.ts'

/**
 * Links a user of an app to a person here. It ends with the token that the app got. A link with keys contains the
 * person's passkey and a private key; one without has neither.
 */
export const ExtAppLink = defineEntity({
  name: 'ExtAppLink',
  tableName: 'ext_app_links',
  properties: {
    id,
    ...timestamps,
    app: () => p.manyToOne(ExtApp).deleteRule('cascade').ref(),
    /** The user's id at the app. */
    externalId: p.string().length(255),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('cascade').unique().ref(),
    /** All three are sealed for the app's key; the passkey is sealed by the person's browser. */
    passkey: p.text().nullable().hidden(),
    apiToken: p.text().hidden(),
    privateKey: p.text().nullable().hidden(),
  },
  uniques: [{ name: 'ext_app_links_user_unique', properties: ['app', 'externalId'] }],
  checks: [{ name: 'ext_app_links_keys_check', expression: '(passkey is null) = (private_key is null)' }],
})
