import * as web from '../../../facades/web/browser/crypto.ts'

export const salt = '0123456789abcdef0123456789abcdef'

export const salts: web.Salts = { userdata: salt, passkey: salt, backup: salt, invitation: salt, ai: salt }

export const roomKey = 'ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8='

export const invitation = {
  encryptedRoomKey: 'avG4Icv5qH92GtBjwAOaNAW1J5NYOraSu6nYqcKe+VU=',
  iv: 'AAECAwQFBgcICQoL',
  tag: '+FSt68PE/Sm/PuYgPHfVuQ==',
}

export const pairs = Promise.all([web.makeKeyPair(), web.makeKeyPair()])

export const passkeyKey = () => web.passkeyKey('Datakey_123', salts)
