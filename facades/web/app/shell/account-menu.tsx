import { Link } from '@tanstack/react-router'
import { type ComponentProps, lazy, Suspense, useState } from 'react'
import { lockKeys, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { LazyMenu } from '../shared/ui/menu-button.tsx'
import { useIsNarrow } from '../shared/ui/sidebar-state.ts'
import styles from './account-menu.module.css'

const ShortcutsDialog = lazy(async () => ({ default: (await import('./shortcuts-dialog.tsx')).ShortcutsDialog }))

/** The person who is signed in, with the menu of their account. */
export function AccountMenu({ close }: { close: () => void }) {
  const { connection, isLocked } = useSession()
  const { name = '', avatar } = connection.userinfo ?? {}
  const [shows, setShows] = useState<'shortcuts' | 'failure'>()
  const isNarrow = useIsNarrow()
  const entries: [boolean, MenuEntry][] = [
    [
      true,
      {
        icon: 'settings',
        label: t('app.settings'),
        link: <Link to="/settings/$section" params={{ section: 'profile' }} />,
        choose: close,
      },
    ],
    // Without a keyboard there are no shortcuts.
    [!isNarrow, { icon: 'keyboard', label: t('app.shortcuts'), choose: () => setShows('shortcuts') }],
    [
      !isLocked,
      { icon: 'lock', label: t('app.account.lock'), choose: () => lockKeys().catch(() => setShows('failure')) },
    ],
    [true, { icon: 'signOut', label: t('page.signOut'), link: <SignOutLink /> }],
  ]
  return (
    <nav className={styles.foot} aria-label={t('app.account')}>
      {shows === 'failure' && (
        <p className="error" role="alert">
          {t('app.settings.lockFailed')}
        </p>
      )}
      <LazyMenu
        label={t('app.account')}
        side="top"
        items={entries.flatMap(([isOffered, entry]) => (isOffered ? [entry] : []))}
        trigger={
          <button type="button" className={styles.account}>
            <Avatar name={name} picture={avatar} />
            <span className={styles.name} dir="auto" aria-hidden="true">
              {name}
            </span>
            <span className="off-screen">{t('app.account.of', { name })}</span>
            <Icon name="more" />
          </button>
        }
      />
      {shows === 'shortcuts' && (
        <Suspense>
          <ShortcutsDialog close={() => setShows(undefined)} />
        </Suspense>
      )}
    </nav>
  )
}

/** A link without content, which the menu gives it. */
const SignOutLink = (props: ComponentProps<'a'>) => <a {...props} href="/logout?ask" />
