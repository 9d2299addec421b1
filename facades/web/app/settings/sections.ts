/** The sections of the settings, by their addresses. The service serves the page at these, and the page has a view for each. */
export const settingsSections = [
  'profile',
  'chats',
  'links',
  'security',
  'tokens',
  'apps',
  'approvals',
  'accounts',
  'usage',
  'data',
  'sessions',
  'appearance',
] as const
export type SettingsSection = (typeof settingsSections)[number]
