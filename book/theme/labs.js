// Two repairs of mdBook's own pages for people who use a keyboard or a screen reader.
(() => {
  // The sidebar's toggle is a label that carries a button's attributes without its role.
  document.getElementById('mdbook-sidebar-toggle')?.setAttribute('role', 'button');
  // Code that scrolls sideways can be reached and scrolled without a mouse.
  for (const code of document.querySelectorAll('pre code')) code.tabIndex = 0;
})();

// Native or CAS: the rows of the tables by backend, type and operation. Without this the tables stand whole.
(() => {
  const form = document.querySelector('.cells-filter');
  if (!form) return;
  const rows = [...document.querySelectorAll('.cells tr[data-operation]')];
  const choices = [...form.querySelectorAll('select')];
  const show = () => {
    let shown = 0;
    for (const row of rows) {
      const away = choices.some(({ value, dataset }) =>
        value && row.dataset[dataset.filter] !== value && !(dataset.filter === 'backend' && row.dataset.backend === 'short'));
      row.classList.toggle('chosen-away', away);
      if (!away) shown += 1;
    }
    for (const table of document.querySelectorAll('.cells')) {
      const its = [...table.querySelectorAll('tr[data-operation]')];
      table.classList.toggle('chosen-away', its.length > 0 && its.every((row) => row.classList.contains('chosen-away')));
    }
    form.querySelector('[role=status]').textContent = `${shown} of ${rows.length} rows`;
  };
  form.addEventListener('change', show);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
})();
