import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'
import { ExtApp } from './ext-app.ts'

/**
 * That a user of an app is a person here. It stands and falls with the token that the app got for the person. A link
 * with keys has the person's passkey and a private key of its own; a narrow one has neither.
 */
export const ExtAppLink = defineEntity({
  name: 'ExtAppLink',
  tableName: 'ext_app_links',
  properties: {
    id,
    ...timestamps,
    app: () => p.manyToOne(ExtApp).deleteRule('cascade').ref(),
    /** Who the person is at the app. */
    externalId: p.string().length(255),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('cascade').unique().ref(),
    /** Sealed for the key of the app, as all three: the passkey by the person's browser. */
    passkey: p.text().nullable().hidden(),
    apiToken: p.text().hidden(),
    privateKey: p.text().nullable().hidden(),
  },
  uniques: [{ name: 'ext_app_links_user_unique', properties: ['app', 'externalId'] }],
  checks: [{ name: 'ext_app_links_keys_check', expression: '(passkey is null) = (private_key is null)' }],
})
