# Each target works from nothing: the environment is made and filled when it is not there.
BIN := .venv/bin
LEARNER := .venv/.lab-installed
AUTHOR := .venv/.all-installed
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 300 \
	--nbval-sanitize-with tests/nbval_sanitize.cfg
# The long notebooks begin first: last, one of them would keep a single process busy.
SPREAD := --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help lab student test test-all lowest hosted lint book links notebooks stamp dist bench results

help:
	@echo "make lab        open the lessons in JupyterLab, to work in them, in my-course/"
	@echo "make student    write the lessons without their solutions, for a class, into student/"
	@echo "make test       check code, book and notebooks, as continuous integration does; 12 minutes"
	@echo "                (make test LESSON=attention: its exercises and its module; a minute)"
	@echo "make test-all   the same, with all that takes longer; an hour"
	@echo "make lowest     run the tests with the lowest versions of everything that may be used"
	@echo "make hosted     run all lessons as Colab and Kaggle do; about ten minutes"
	@echo "make lint       check style and the order of the modules"
	@echo "make book       build the lessons as web pages in book/_build/html"
	@echo "make links      check the book's links, and list those that lead out of it"
	@echo "make notebooks  execute all notebooks again from their sources"
	@echo "make bench      measure speeds and the translators' failures again; about half an hour, on a quiet machine"
	@echo "make results    train lesson 9's translators again; twenty hours or more, on a quiet machine"
	@echo "make stamp      write links and set-up cells after a change of address or version"
	@echo "make dist       build the package for a release, into dist/"

lab: $(LEARNER)
	@$(BIN)/transformer-course lab

student: $(LEARNER)
	@$(BIN)/python -m tools.student student

# A home without progress: what you have solved yourself is neither seen nor changed.
test test-all: export TRANSFORMER_COURSE_HOME := $(CURDIR)/.make/home
# The tests start hundreds of Pythons; where none may keep what it compiles, each compiles it again.
test test-all: export PYTHONDONTWRITEBYTECODE :=
test: CHOSEN := -m "not exhaustive"
test test-all: lint
	@rm -rf .make/home
ifdef LESSON
	@echo "Running the tests of the exercises and the module of the lesson $(LESSON)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(CHOSEN) -k "[$(LESSON). or test_$(LESSON).py" \
		tests/exercises/test_catalogues.py $(wildcard tests/model/test_$(LESSON).py)
else
	@echo "Running the tests, and the notebooks against their stored outputs"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(SPREAD) $(NBVAL) $(CHOSEN) notebooks tests
endif

# PyTorch stays as it is: its old versions bring gigabytes where only the processor is used.
lowest: $(AUTHOR)
	@echo "Installing the lowest versions into .make/lowest"
	@mkdir -p .make
	@grep '^torch==' constraints.txt >.make/torch.txt
	@$(BIN)/uv pip compile --quiet --python $(BIN)/python --all-extras --resolution lowest-direct \
		--constraint .make/torch.txt --output-file .make/lowest.txt pyproject.toml
	@$(BIN)/python -m venv --clear .make/lowest
	@.make/lowest/bin/python -m pip install --quiet --constraint .make/lowest.txt \
		--editable ".[lab,book,peers,test]"
	@OMP_NUM_THREADS=1 .make/lowest/bin/python -m pytest -W ignore -n 2 $(SPREAD) \
		-m "not exhaustive" \
		--deselect tests/test_house.py::test_pins_are_what_this_environment_has \
		--deselect tests/test_house.py::test_everything_installed_is_pinned tests

hosted: $(AUTHOR)
	@$(BIN)/python -m tools.hosted

lint: $(AUTHOR)
	@echo "Checking style and the order of the modules"
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/lint-imports --no-logo --no-cache

# What is left of a build with warnings would let the next one pass without them.
book: $(AUTHOR)
	@echo "Building the book"
	@$(BIN)/jupyter-book build . -q -W --keep-going \
		--config book/_config.yml --toc book/_toc.yml --path-output book \
		|| { rm -rf book/_build; exit 1; }

links: book
	@$(BIN)/python -m tools.links book/_build/html

notebooks: $(AUTHOR)
	@echo "Executing the notebooks"
	@$(BIN)/python -m tools.notebooks build

bench: $(AUTHOR)
	@$(BIN)/python -m benchmarks.toy_training
	@$(BIN)/python -m benchmarks.exercise_checks
	@$(BIN)/python -m benchmarks.training_speed
	@$(BIN)/python -m benchmarks.decoding_speed
	@$(BIN)/python -m benchmarks.scaling
	@$(BIN)/python -m benchmarks.data_parallel
	@$(BIN)/python -m benchmarks.fragile_input

results: $(AUTHOR)
	@for run in "en-fr short" "en-fr long --ship" "en-de short" "en-de long" "en-de pieces --ship"; do \
		$(BIN)/python -m tools.recorded_runs $$run --threads 1 || exit 1; done
	@$(BIN)/python -m tools.moses_text_run en-de
	@$(BIN)/python -m tools.moses_counts
	@$(BIN)/python -m tools.beam_width_runs

stamp: $(AUTHOR)
	@$(BIN)/python -m tools.stamp

dist: $(AUTHOR)
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist

$(LEARNER): pyproject.toml constraints.txt
	@sh tools/install.sh lab
	@touch $@

$(AUTHOR): pyproject.toml constraints.txt
	@sh tools/install.sh lab,book,peers,test
	@touch $@ $(LEARNER)
